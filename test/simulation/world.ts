/** The part of the cluster around the product: what histories, stand-ins and invariants of the chaos test see of the model. */
import type { KubeObject } from '../../src/api/meta.ts';
import { AGENT_STATUS_ANNOTATION } from '../../src/api/names.ts';
import type { KubeRequest, KubeResponse } from '../../src/kube/client.ts';
import type { Write } from '../chaos/audit.ts';
import type { Machine } from '../chaos/machine/machine.ts';
import type { Change, Kind, Objects } from '../chaos/timeline.ts';
import { WATCHED } from '../chaos/timeline.ts';
import { type Cluster, nodeNamesOf, type World } from '../chaos/world.ts';
import { placeOf } from './api-server/kinds.ts';
import type { ModelServer } from './api-server/server.ts';
import type { HistoryMachine } from './machine/with-agent.ts';
import type { Network } from './network.ts';
import { admitted } from './stand-ins/admission.ts';
import type { VirtualTime } from './time.ts';

/** The user under which all replicas of the controller write. */
export const CONTROLLER = 'controller';
const OUTSIDE = 'outside';
/** The beginning of the names of a history. */
export const ID = 'h';

/** The changes of the objects that histories are about, in their order. */
export function changesOf(server: ModelServer): readonly Change[] {
  return server.objects.changes.filter((change): change is typeof change & { kind: Kind } => change.kind in WATCHED);
}

const VERBS = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete', GET: 'get' } as const;

/** The name under which a record has the report that an agent writes onto its node, about once an hour. */
export const REPORT = 'nodes/report';

function isReport({ body }: KubeRequest): boolean {
  const { metadata } = (body ?? {}) as Partial<KubeObject>;
  return metadata?.annotations?.[AGENT_STATUS_ANNOTATION] !== undefined;
}

/** What the API server's audit log would have of a request that was carried out; undefined where it would have nothing. */
function writeOf(program: string, request: KubeRequest, response: KubeResponse, at: number): Write | undefined {
  const place = placeOf(request.path.split('?')[0] ?? '');
  if (request.method === 'GET' || response.status >= 300 || place === undefined) return undefined;
  const { metadata } = response.body as Partial<KubeObject>;
  const { plural } = WATCHED[place.kind as Kind] ?? { plural: place.kind };
  const name = place.name ?? metadata?.name ?? '';
  return {
    user: program.startsWith(CONTROLLER) ? CONTROLLER : program,
    program,
    verb: VERBS[request.method],
    resource: isReport(request) ? REPORT : place.subresource === undefined ? plural : `${plural}/${place.subresource}`,
    key: place.namespace === undefined ? name : `${place.namespace}/${name}`,
    revision: metadata?.resourceVersion === undefined ? undefined : Number(metadata.resourceVersion),
    at,
  };
}

/** All writes of a simulation, and its trace: one line for each request that may change something. */
export interface Record {
  readonly writes: Write[];
  readonly trace: string[];
  note(program: string, request: KubeRequest, response: KubeResponse): void;
}

export function createRecord(time: VirtualTime): Record {
  const begun = time.now();
  const writes: Write[] = [];
  const trace: string[] = [];
  return {
    writes,
    trace,
    note: (program, request, response) => {
      // A leader renews its Lease all the time.
      if (request.method === 'GET' || request.path.includes('/leases/')) return;
      const at = ((time.now() - begun) / 1_000).toFixed(3).padStart(9);
      const { resourceVersion = '' } = (response.body as Partial<KubeObject>).metadata ?? {};
      trace.push(`${at} ${program} ${request.method} ${request.path} ${response.status} ${resourceVersion}`);
      const write = writeOf(program, request, response, time.now());
      if (write !== undefined) writes.push(write);
    },
  };
}

/** Of a history without an agent: static pods of the node that would have it are not played. */
const NO_MACHINE = {
  nodeName: '',
  moves: [],
  addManifest: () => Promise.resolve('no agent'),
  removeManifest: () => Promise.resolve('no agent'),
  startAgent: () => Promise.resolve('no agent'),
  isAgentUp: () => false,
  callOffShutdown: () => Promise.resolve('no agent'),
  disturbedAt: () => 0,
} as unknown as Machine;

/** What is around the model of the API server in one history. */
interface Surroundings {
  readonly network: Network;
  readonly record: Record;
  /** What the steps of a history do to the controllers. */
  readonly cluster: Cluster;
  /** The machine of the node that has an agent; without it no node has one. */
  readonly machine?: HistoryMachine | undefined;
}

/** The world of a history. */
export function createSimulatedWorld(server: ModelServer, { network, record, cluster, machine }: Surroundings): World {
  const list = <K extends Kind>(kind: K): readonly Objects[K][] => server.objects.list(kind) as readonly Objects[K][];
  const send = (request: KubeRequest): Promise<number> => {
    const response = server.handle(admitted(server, request), OUTSIDE);
    record.note(OUTSIDE, request, response);
    network.changed();
    return Promise.resolve(response.status);
  };
  return {
    cluster,
    get changes() {
      return changesOf(server);
    },
    id: ID,
    nodeNames: nodeNamesOf(ID),
    label: `chaos.example/${ID}`,
    namespaces: [ID, `${ID}-b`],
    stuck: new Set(),
    staticPods: new Set(),
    parked: new Set(),
    machine: machine === undefined ? NO_MACHINE : (machine as unknown as Machine),
    interceptors: 'works',
    owns: () => true,
    nodes: () => list('Node'),
    pods: () => list('Pod'),
    maintenances: () => list('NodeMaintenance'),
    requests: () => list('EvictionRequest'),
    send,
    [Symbol.dispose]: () => undefined,
  };
}
