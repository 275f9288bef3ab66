/** What steps, stand-ins and invariants of the chaos test see of a state. */
import type { KubeObject } from '../../src/api/meta.ts';
import type { Pod } from '../../src/api/pod.ts';
import type { KubeRequest, KubeResponse } from '../../src/kube/client.ts';
import type { Write } from '../chaos/audit.ts';
import type { Machine } from '../chaos/machine/machine.ts';
import { type Kind, type Objects, WATCHED } from '../chaos/timeline.ts';
import { type Cluster, nodeNamesOf, type World } from '../chaos/world.ts';
import { placeOf } from '../simulation/api-server/kinds.ts';
import type { ModelChange } from '../simulation/api-server/objects.ts';
import { createModelServer, type ModelServer } from '../simulation/api-server/server.ts';
import { admitted } from '../simulation/stand-ins/admission.ts';
import { StateObjects } from './objects.ts';
import type { State } from './state.ts';

export const CONTROLLER = 'controller';
export const OUTSIDE = 'outside';
const ID = 'h';

/** The times that pass only when nothing is left to do, in milliseconds since the epoch: a moment, half a minute, hours. */
export const ERAS = [0, 30_000, 3 * 3_600_000].map((ms) => Date.UTC(2026, 0, 1) + ms);

export function timeOf({ era }: Pick<State, 'era'>): number {
  return ERAS[era] ?? 0;
}

/** What was done to the objects of a state. */
export interface Done {
  readonly state: State;
  readonly changes: readonly ModelChange[];
  readonly writes: readonly Write[];
}

const VERBS = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete', GET: 'get' } as const;

/** What the API server's audit log would have of a request that was carried out. */
function writeOf(user: string, request: KubeRequest, made: readonly ModelChange[]): Write | undefined {
  const place = placeOf(request.path.split('?')[0] ?? '');
  if (request.method === 'GET' || place === undefined) return undefined;
  const name = place.name ?? (request.body as Partial<KubeObject> | undefined)?.metadata?.name ?? '';
  const key = place.namespace === undefined ? name : `${place.namespace}/${name}`;
  const { plural } = WATCHED[place.kind as Kind];
  return {
    user,
    program: user,
    verb: VERBS[request.method],
    resource: place.subresource === undefined ? plural : `${plural}/${place.subresource}`,
    key,
    revision: made.findLast((change) => change.kind === place.kind && change.key === key)?.revision,
    at: 0,
  };
}

/** The objects of a state while something is done to them. */
export class Work {
  readonly server: ModelServer;
  readonly writes: Write[] = [];
  readonly #state: State;
  readonly #objects: StateObjects;

  constructor(state: State) {
    const now = (): number => timeOf(state);
    this.#state = state;
    this.#objects = new StateObjects(state.objects, state.born, now);
    this.server = createModelServer(now, { objects: this.#objects });
  }

  send(request: KubeRequest, user: string): KubeResponse {
    const before = this.#objects.changes.length;
    this.#objects.expect(request);
    const response = this.server.handle(admitted(this.server, request), user);
    const write = writeOf(user, request, this.#objects.changes.slice(before));
    if (write !== undefined && response.status < 300) this.writes.push(write);
    return response;
  }

  done(more: Partial<State> = {}): Done {
    const state = { ...this.#state, ...this.#objects.result() };
    const cordonedBy = { ...state.cordonedBy };
    for (const { kind, key, before, object } of this.#objects.changes) {
      const [was, is] = [before, object].map((each) => (each as { spec?: { unschedulable?: boolean } })?.spec);
      if (kind !== 'Node' || was?.unschedulable === is?.unschedulable) continue;
      cordonedBy[key] = this.writes.at(-1)?.user ?? OUTSIDE;
    }
    const isSame = Object.entries(cordonedBy).every(([key, user]) => state.cordonedBy[key] === user);
    const whole = { ...state, ...(isSame ? {} : { cordonedBy }), ...more };
    return { state: whole, changes: this.#objects.changes, writes: this.writes };
  }
}

const NO_MACHINE = { nodeName: '', moves: [], disturbedAt: () => 0 } as unknown as Machine;
const NO_CLUSTER = {
  inPeace: (action: () => Promise<unknown>) => action(),
  disturb: (_: string, action: () => Promise<unknown>) => action(),
  disturbedAt: () => 0,
} as unknown as Cluster;

/** The static pods of the small world by their number and that of their node, and the last mirror pods that were seen of them. */
export interface StaticPods {
  readonly keys: Set<string>;
  readonly known: Map<string, Pod>;
}

/** The world of a state; what is sent goes to `work`. */
export function worldOf(state: State, work: Work, { keys }: Pick<StaticPods, 'keys'>): World {
  const list = <K extends Kind>(kind: K): readonly Objects[K][] =>
    work.server.objects.list(kind) as readonly Objects[K][];
  return {
    cluster: NO_CLUSTER,
    machine: NO_MACHINE,
    changes: [],
    id: ID,
    nodeNames: nodeNamesOf(ID),
    label: `chaos.example/${ID}`,
    namespaces: [ID, `${ID}-b`],
    stuck: new Set(),
    staticPods: keys,
    parked: new Set(state.parked),
    interceptors: 'works',
    owns: () => true,
    nodes: () => list('Node'),
    pods: () => list('Pod'),
    maintenances: () => list('NodeMaintenance'),
    requests: () => list('EvictionRequest'),
    send: (request) => Promise.resolve(work.send(request, OUTSIDE).status),
    [Symbol.dispose]: () => undefined,
  };
}
