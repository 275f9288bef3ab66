import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { DrainPlanEntry, NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod, PodDisruptionBudget } from '../../../src/api/pod.ts';
import type { ControllerContext } from '../../../src/controller/context.ts';
import { controllerOptionsSchema } from '../../../src/controller/options.ts';
import { rfc3339 } from '../../../src/decide/time.ts';
import type { KubeRequest, KubeResponse } from '../../../src/kube/client.ts';
import { UngatedDaemonSets } from '../../../src/kube/eviction/ungated-daemon-sets.ts';
import type { Interceptor } from '../../../src/kube/eviction/interceptor.ts';
import { InterceptorLoop } from '../../../src/kube/eviction/interceptor-loop.ts';
import { cacheOfMap, indexesOfMaps } from '../maintenance/indexes.ts';
import { drainOf } from '../maintenance/objects.ts';
import { SILENT_LOG } from '../silent-log.ts';
import { createSteppingClock, type SteppingClock } from '../stand-ins/stepping-clock.ts';

/** What the API server answers; 200 where the rest is absent. */
export type Answer = Partial<KubeResponse> | Error;

/** The controller's context over objects in memory, with a client that records what is sent. */
export interface EvictionScene {
  readonly context: ControllerContext;
  readonly clock: SteppingClock;
  readonly requests: Map<string, EvictionRequest>;
  readonly pods: Map<string, Pod>;
  readonly budgets: Map<string, PodDisruptionBudget>;
  readonly maintenances: Map<string, NodeMaintenance>;
  readonly nodes: Map<string, Node>;
  /** What was sent, as "METHOD path", in its order. */
  readonly sent: KubeRequest[];
  /** Reasons of the Events that were recorded. */
  readonly events: string[];
  /** Counts of the metric of attempts, by outcome. */
  readonly attempts: string[];
  /** How the Eviction API answers from now on; all other answers are 200. */
  evictionAnswer: (request: KubeRequest) => Answer | Promise<Answer>;
  /** The maintenances as the API server has them from now on; those of the copies unless set. */
  read: () => readonly NodeMaintenance[];
  /** How often these were read past the copies. */
  reads: number;
  put(request: EvictionRequest, pod?: Pod): string;
  /** Puts a drain over the node n whose targets are these. */
  drain(drainTargets: readonly DrainPlanEntry[]): void;
  /** One run of an interceptor's loop for the key of a request, with its memory kept between the runs. */
  loop(interceptor: Interceptor): (key: string) => Promise<{ readonly againMs?: number }>;
  /** The methods and last parts of the paths that were sent. */
  calls(): readonly string[];
}

export function createEvictionScene(): EvictionScene {
  const clock = createSteppingClock();
  const requests = new Map<string, EvictionRequest>();
  const pods = new Map<string, Pod>();
  const budgets = new Map<string, PodDisruptionBudget>();
  const maintenances = new Map<string, NodeMaintenance>();
  const nodes = new Map<string, Node>();
  const sent: KubeRequest[] = [];
  const events: string[] = [];
  const attempts: string[] = [];
  const send = async (request: KubeRequest): Promise<KubeResponse> => {
    sent.push(request);
    const answer = /\/eviction(\?|$)/.test(request.path) ? await scene.evictionAnswer(request) : {};
    if (answer instanceof Error) throw answer;
    return { status: 200, headers: {}, body: undefined, ...answer };
  };
  const copies = {
    ...indexesOfMaps({
      maintenances: cacheOfMap(maintenances),
      requests: cacheOfMap(requests),
      pods: cacheOfMap(pods),
      nodes: cacheOfMap(nodes),
    }),
    budgets: cacheOfMap(budgets),
  };
  const part = {
    client: { send },
    clock,
    log: SILENT_LOG,
    options: controllerOptionsSchema.parse({}),
    metrics: {
      attempts: { inc: ({ outcome }: { readonly outcome: string }) => void attempts.push(outcome) },
      begun: { inc: () => void attempts.push('begun') },
      ended: {
        observe: ({ outcome }: { readonly outcome: string }, seconds: number) =>
          void attempts.push(`${outcome} after ${seconds} s`),
      },
    },
    events: { record: (_subject: object, { reason }: { readonly reason: string }) => void events.push(reason) },
    ungated: new UngatedDaemonSets(clock),
    readMaintenances: async () => {
      scene.reads += 1;
      return await Promise.resolve(scene.read());
    },
    ...copies,
  };
  const context = part as unknown as ControllerContext;
  const scene: EvictionScene = {
    context,
    clock,
    requests,
    pods,
    budgets,
    maintenances,
    nodes,
    sent,
    events,
    attempts,
    evictionAnswer: () => ({}),
    read: () => [...maintenances.values()],
    reads: 0,
    put: (request, pod) => {
      const { namespace, name } = request.metadata;
      const key = `${namespace}/${name}`;
      requests.set(key, request);
      if (pod !== undefined) pods.set(`${pod.metadata.namespace}/${pod.metadata.name}`, pod);
      return key;
    },
    drain: (drainTargets) => {
      const drainStartTime = rfc3339(clock.now());
      const status = { nodeStatuses: [{ nodeRef: { name: 'n' }, drainTargets, drainStartTime }] };
      nodes.set('n', { metadata: { name: 'n' }, spec: { unschedulable: true } });
      maintenances.set('m', { ...drainOf('m', ['n']), status });
    },
    loop: (interceptor) => {
      const { reconcile } = new InterceptorLoop(interceptor, {
        ...context,
        request: (key) => requests.get(key),
        pod: ({ metadata, spec }) => Promise.resolve(pods.get(`${metadata.namespace}/${spec.target.pod.name}`)),
      });
      return (key) => reconcile(key, AbortSignal.timeout(10_000));
    },
    calls: () => sent.map(({ method, path }) => `${method} ${path.replace(/^.*\/(?=[^/]+\/[^/]+$)/, '')}`),
  };
  return scene;
}
