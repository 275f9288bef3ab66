/**
 * A gRPC connection to a container runtime, and the calls of the agent. The libraries are loaded at the first call, so that an
 * idle agent does not use memory for them.
 */
import type { Client } from '@grpc/grpc-js';
import type { MethodDefinition, ServiceDefinition } from '@grpc/proto-loader';
import { describeError, NodemaintError } from '../../errors.ts';

/** A `runtime.v1.PodSandbox`. */
export interface WireSandbox {
  readonly id: string;
  readonly metadata: { readonly name: string; readonly uid: string; readonly namespace: string } | null;
  readonly state: 'SANDBOX_READY' | 'SANDBOX_NOTREADY';
  /** Nanoseconds since the epoch. */
  readonly createdAt: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A `runtime.v1.Container`. */
export interface WireContainer {
  readonly id: string;
  readonly podSandboxId: string;
  readonly state: 'CONTAINER_CREATED' | 'CONTAINER_RUNNING' | 'CONTAINER_EXITED' | 'CONTAINER_UNKNOWN';
  readonly annotations: Readonly<Record<string, string>>;
}

/** The answer of each method. */
export interface Answers {
  readonly Version: { readonly runtimeName: string; readonly runtimeVersion: string };
  readonly ListPodSandbox: { readonly items: readonly WireSandbox[] };
  readonly ListContainers: { readonly containers: readonly WireContainer[] };
  readonly StopContainer: object;
  readonly StopPodSandbox: object;
}

/** A call. */
export interface Call<Method extends keyof Answers> {
  readonly method: Method;
  readonly request: object;
  readonly timeoutMs: number;
  /** The purpose of the call, for its error message, such as `list the pods`. */
  readonly doing: string;
}

/** A gRPC service: its package in the JSON form of a .proto file, and its name. */
export interface RemoteService {
  readonly describe: () => object | Promise<object>;
  readonly name: string;
  /** Certificates and keys in PEM; absent for a connection without TLS. */
  readonly tls?: { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer };
  /** How numbers of 64 bits are read; as numbers unless told. */
  readonly longs?: typeof String | typeof Number;
}

/** A call of a method of any service. */
interface RemoteCall {
  readonly method: string;
  readonly request: object;
  readonly timeoutMs: number;
}

/** A connection to a runtime. It connects at the first call, and again after an interruption. */
export interface Connection {
  /** @throws NodemaintError RUNTIME_UNAVAILABLE; the signal's reason when it is aborted. */
  call<Method extends keyof Answers>(what: Call<Method>, signal: AbortSignal): Promise<Answers[Method]>;
  close(): void;
}

interface Channel {
  readonly client: Client;
  readonly service: ServiceDefinition;
}

interface Failure {
  readonly code: number;
  readonly details: string;
}

/** Longer answers fail; the kubelet has the same limit. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Codes of `grpc.status`, which is not loaded here. */
const DEADLINE_EXCEEDED = 4;
const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;

const RUNTIME: RemoteService = {
  describe: async () => (await import('./proto.ts')).describeRuntimeV1(),
  name: 'runtime.v1.RuntimeService',
};

/**
 * One call of a service other than the runtime's, over a connection of its own. Throws what the library throws, and the
 * signal's reason when it is aborted.
 */
export async function callService<Answer extends object>(
  target: string,
  service: RemoteService,
  call: RemoteCall,
  signal: AbortSignal,
): Promise<Answer> {
  const channel = await openChannel(target, service);
  try {
    return await callOnce<Answer>(channel, call, signal);
  } finally {
    channel.client.close();
  }
}

/** `target` is a gRPC target such as `unix:///run/containerd/containerd.sock`. Does not connect yet. */
export function createConnection(target: string): Connection {
  let channel: Promise<Channel> | undefined;
  return {
    call: async (what, signal) => {
      signal.throwIfAborted();
      try {
        channel ??= openChannel(target, RUNTIME);
        return await callOnce<Answers[typeof what.method]>(await channel, what, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw runtimeError(target, what, error);
      }
    },
    close: () => {
      channel?.then(
        ({ client }) => client.close(),
        // The call that opened the channel has reported this error.
        () => undefined,
      );
      channel = undefined;
    },
  };
}

/** Whether a call failed because the runtime does not have the object. */
export function isNotFound(error: unknown): boolean {
  return error instanceof NodemaintError && isFailure(error.cause) && error.cause.code === NOT_FOUND;
}

async function openChannel(target: string, { describe, name, tls, longs = Number }: RemoteService): Promise<Channel> {
  const grpc = await import('@grpc/grpc-js');
  const loader = await import('@grpc/proto-loader');
  const description = (await describe()) as Parameters<typeof loader.fromJSON>[0];
  const definitions = loader.fromJSON(description, { longs, enums: String, defaults: true });
  const credentials =
    tls === undefined ? grpc.credentials.createInsecure() : grpc.credentials.createSsl(tls.ca, tls.key, tls.cert);
  const client = new grpc.Client(target, credentials, {
    'grpc.max_receive_message_length': MAX_ANSWER_BYTES,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_retries': 0,
    'grpc.service_config_disable_resolution': 1,
    // Reconnects soon after a restart of the runtime; with the defaults that takes up to two minutes.
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1000,
  });
  return { client, service: definitions[name] as ServiceDefinition };
}

async function callOnce<Answer extends object>(
  { client, service }: Channel,
  { method, request, timeoutMs }: RemoteCall,
  signal: AbortSignal,
): Promise<Answer> {
  signal.throwIfAborted();
  const { path, requestSerialize, responseDeserialize } = service[method] as MethodDefinition<object, object>;
  const { promise, resolve, reject } = Promise.withResolvers<object>();
  const options = { deadline: Date.now() + timeoutMs };
  const call = client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    options,
    (error, answer) => {
      if (answer === undefined) reject(error ?? new Error('empty answer'));
      else resolve(answer);
    },
  );
  const cancel = (): void => call.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return (await promise) as Answer;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

function runtimeError(target: string, { doing, timeoutMs }: Call<keyof Answers>, cause: unknown): NodemaintError {
  const why = isFailure(cause) ? explain(cause, timeoutMs) : describeError(cause);
  const message = `cannot ${doing} at the container runtime ${target}: ${why}`;
  return new NodemaintError('RUNTIME_UNAVAILABLE', message, { cause: isFailure(cause) ? told(cause, why) : cause });
}

/** The failure in our words: those of the library are about its own insides, and would stand behind ours. */
function told({ code, details }: Failure, why: string): Error {
  return Object.assign(new Error(why), { code, details });
}

function explain({ code, details }: Failure, timeoutMs: number): string {
  if (code === DEADLINE_EXCEEDED) return `no answer within ${timeoutMs / 1000} s; see the log of the runtime`;
  if (code === UNIMPLEMENTED) {
    return 'it does not serve CRI runtime.v1; enable its CRI plugin (containerd: take "cri" out of disabled_plugins)';
  }
  if (/ENOENT|ECONNREFUSED/.test(details)) {
    return "nothing listens there; start the runtime, or set the agent's runtime endpoint to the kubelet's";
  }
  if (details.includes('EACCES')) return 'permission denied; run the agent as root';
  return `${details}; see the log of the runtime`;
}

function isFailure(error: unknown): error is Failure {
  return error instanceof Error && 'details' in error && typeof error.details === 'string';
}
