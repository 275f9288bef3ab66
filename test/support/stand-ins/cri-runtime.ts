import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import * as grpc from '@grpc/grpc-js';
import { fromJSON, type ServiceDefinition } from '@grpc/proto-loader';
import { describeRuntimeV1 } from '../../../src/host/cri/proto.ts';

/** A pod with one container, whose process is part of the stand-in. */
export interface CriPod {
  readonly name: string;
  readonly source: 'api' | 'file';
  readonly labels?: Readonly<Record<string, string>>;
  readonly graceSec: number;
  /** How long its process needs to end after SIGTERM; Infinity for one that ignores it. */
  readonly endsAfterMs: number;
}

/** How a call goes wrong. */
export type CriFault =
  /** It is answered with an error, and nothing is done. */
  | 'error'
  /** What it asks for is done, and it is answered with an error. */
  | 'error after it was done'
  /** It is never answered, and nothing is done. */
  | 'hang'
  /** The runtime is gone for a while, and all calls with it; containers live on. */
  | 'restart'
  /** The same, after what the call asks for has begun. */
  | 'restart after it began';

/** What happened to the process of a pod. */
export interface CriEvent {
  readonly what: 'TERM' | 'END' | 'KILL';
  readonly pod: string;
  readonly at: number;
}

interface Process {
  readonly pod: CriPod;
  state: 'running' | 'terminating' | 'ended';
  sandboxReady: boolean;
  readonly ended: PromiseWithResolvers<void>;
}

interface Request {
  readonly podSandboxId?: string;
  readonly containerId?: string;
  readonly timeout?: number;
  readonly filter?: { readonly podSandboxId?: string } | null;
}

type Call = grpc.ServerUnaryCall<Request, object>;

/** For how long a restarted runtime does not listen. */
const AWAY_MS = 60;
const METHODS = ['ListContainers', 'ListPodSandbox', 'StopContainer', 'StopPodSandbox'] as const;
type Method = (typeof METHODS)[number];

function loadService(): ServiceDefinition {
  const options = { longs: Number, enums: String, defaults: true };
  const definitions = fromJSON(describeRuntimeV1(), options);
  return definitions['runtime.v1.RuntimeService'] as ServiceDefinition;
}

/**
 * A container runtime that speaks CRI over gRPC, as containerd does: a container gets SIGTERM once, and SIGKILL when its
 * time-out is over and the call still stands; the stop of a sandbox kills what is left in it. One call goes wrong.
 */
export class CriRuntimeStandIn implements AsyncDisposable {
  readonly events: CriEvent[] = [];
  /** The methods that were called, in their order. */
  readonly calls: string[] = [];
  /** Called when the process of a pod has ended. */
  onEnd: (pod: CriPod) => void = () => undefined;
  readonly #socket: string;
  readonly #processes: readonly Process[];
  readonly #fault: { readonly at: number; readonly kind: CriFault } | undefined;
  #server: grpc.Server | undefined;
  #restarting: Promise<void> = Promise.resolve();

  constructor(socket: string, pods: readonly CriPod[], fault?: { readonly at: number; readonly kind: CriFault }) {
    this.#socket = socket;
    this.#fault = fault;
    this.#processes = pods.map((pod) => ({
      pod,
      state: 'running',
      sandboxReady: true,
      ended: Promise.withResolvers<void>(),
    }));
  }

  /** Whether the fault has happened. */
  get hasFailed(): boolean {
    return this.#fault !== undefined && this.calls.length >= this.#fault.at;
  }

  /** The pods whose processes run. */
  get running(): readonly string[] {
    return this.#processes.filter(({ state }) => state !== 'ended').map(({ pod }) => pod.name);
  }

  async listen(): Promise<void> {
    const server = new grpc.Server();
    server.addService(
      loadService(),
      Object.fromEntries(
        METHODS.map((method) => [method, this.#handlerOf(method)]),
      ) as grpc.UntypedServiceImplementation,
    );
    await rm(this.#socket, { force: true });
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    server.bindAsync(`unix://${this.#socket}`, grpc.ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
    await promise;
    this.#server = server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#restarting;
    this.#server?.forceShutdown();
    await rm(this.#socket, { force: true });
  }

  #handlerOf(method: Method) {
    return (call: Call, reply: grpc.sendUnaryData<object>): void => {
      this.calls.push(method);
      const fault = this.calls.length === this.#fault?.at ? this.#fault.kind : undefined;
      this.#serve(method, call, fault).then(
        (answer) => {
          if (answer !== undefined) reply(null, answer);
        },
        (error: unknown) => reply({ code: grpc.status.UNKNOWN, details: String(error) }),
      );
    };
  }

  /** The answer; undefined for none. */
  async #serve(method: Method, call: Call, fault: CriFault | undefined): Promise<object | undefined> {
    if (fault === 'hang') return undefined;
    if (fault === 'restart') {
      this.#restart();
      return undefined;
    }
    if (fault === 'error') throw new Error('the runtime has failed');
    const answer = this.#carryOut(method, call);
    if (fault === 'restart after it began') {
      await Promise.race([answer, delay(20)]);
      this.#restart();
      return undefined;
    }
    if (fault === 'error after it was done') {
      await answer;
      throw new Error('the runtime has failed afterwards');
    }
    return await answer;
  }

  #restart(): void {
    this.#server?.forceShutdown();
    this.#restarting = delay(AWAY_MS).then(() => this.listen());
  }

  async #carryOut(method: Method, call: Call): Promise<object> {
    const { podSandboxId, containerId, timeout = 0, filter } = call.request;
    if (method === 'ListPodSandbox') return { items: this.#processes.map((process) => this.#sandboxOf(process)) };
    if (method === 'ListContainers') {
      const wanted = filter?.podSandboxId ?? '';
      const listed = this.#processes.filter(({ pod }) => wanted === '' || wanted === `s-${pod.name}`);
      return { containers: listed.map((process) => this.#containerOf(process)) };
    }
    if (method === 'StopContainer') {
      await this.#stopContainer(this.#find(`c-${containerId?.slice(2)}`), timeout, call);
      return {};
    }
    const process = this.#find(`c-${podSandboxId?.slice(2)}`);
    this.#kill(process);
    process.sandboxReady = false;
    return {};
  }

  #find(containerId: string): Process {
    const process = this.#processes.find(({ pod }) => containerId === `c-${pod.name}`);
    if (process === undefined) throw new Error(`no such container: ${containerId}`);
    return process;
  }

  #note(what: CriEvent['what'], { name }: CriPod): void {
    this.events.push({ what, pod: name, at: performance.now() });
  }

  #end(process: Process, what: 'END' | 'KILL'): void {
    if (process.state === 'ended') return;
    process.state = 'ended';
    this.#note(what, process.pod);
    process.ended.resolve();
    this.onEnd(process.pod);
  }

  #kill(process: Process): void {
    this.#end(process, 'KILL');
  }

  async #stopContainer(process: Process, graceSec: number, call: Call): Promise<void> {
    if (process.state === 'running') {
      process.state = 'terminating';
      this.#note('TERM', process.pod);
      const { endsAfterMs } = process.pod;
      if (endsAfterMs !== Infinity) void delay(endsAfterMs).then(() => this.#end(process, 'END'));
    }
    await Promise.race([process.ended.promise, delay(graceSec * 1000)]);
    // A call that was given up ends nothing any more.
    if (!call.cancelled) this.#kill(process);
  }

  #sandboxOf({ pod, sandboxReady }: Process): object {
    return {
      id: `s-${pod.name}`,
      metadata: { name: pod.name, uid: `u-${pod.name}`, namespace: 'default', attempt: 0 },
      state: sandboxReady ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
      createdAt: 1,
      labels: pod.labels ?? {},
      annotations: { 'kubernetes.io/config.source': pod.source },
    };
  }

  #containerOf({ pod, state }: Process): object {
    return {
      id: `c-${pod.name}`,
      podSandboxId: `s-${pod.name}`,
      state: state === 'ended' ? 'CONTAINER_EXITED' : 'CONTAINER_RUNNING',
      annotations: { 'io.kubernetes.pod.terminationGracePeriod': String(pod.graceSec) },
    };
  }
}
