/** The kinds of objects that the model of the API server knows, and how the API server treats each. */
import {
  DAEMON_SETS,
  DISRUPTION_BUDGETS,
  EVENTS,
  EVICTION_REQUESTS,
  LEASES,
  NODE_MAINTENANCES,
  NODES,
  PODS,
  type Resource,
} from '../../../src/kube/resource.ts';

/** How the API server treats the objects of a kind. */
export interface KindRules {
  readonly resource: Resource;
  /** Its `status` is written by the subresource of that name alone. */
  readonly hasStatus: boolean;
  /** A write of the status may change the metadata too: so it is with built-in kinds, and not with those of a CRD. */
  readonly statusWritesMetadata: boolean;
  /** `metadata.generation` counts the changes of the spec. */
  readonly hasGeneration: boolean;
  /** Lists that are merged by a key, by their path in the object; every other list is replaced as a whole. */
  readonly keyedLists: Readonly<Record<string, string>>;
}

const BUILT_IN = { hasStatus: true, statusWritesMetadata: true, hasGeneration: true, keyedLists: {} };
const CUSTOM = { ...BUILT_IN, statusWritesMetadata: false };
const CONDITIONS = { 'status.conditions': 'type' };

export const KIND_RULES = {
  Node: { ...BUILT_IN, resource: NODES, hasGeneration: false, keyedLists: CONDITIONS },
  Pod: { ...BUILT_IN, resource: PODS, keyedLists: CONDITIONS },
  NodeMaintenance: {
    ...CUSTOM,
    resource: NODE_MAINTENANCES,
    keyedLists: { ...CONDITIONS, 'status.stageStatuses': 'name' },
  },
  EvictionRequest: {
    ...CUSTOM,
    resource: EVICTION_REQUESTS,
    keyedLists: {
      ...CONDITIONS,
      'spec.requesters': 'name',
      'status.targetInterceptors': 'name',
      'status.interceptors': 'name',
    },
  },
  PodDisruptionBudget: { ...BUILT_IN, resource: DISRUPTION_BUDGETS, keyedLists: CONDITIONS },
  Lease: { ...BUILT_IN, resource: LEASES, hasStatus: false, hasGeneration: false },
  Event: { ...BUILT_IN, resource: EVENTS, hasStatus: false, hasGeneration: false },
  DaemonSet: { ...BUILT_IN, resource: DAEMON_SETS },
} as const satisfies Readonly<Record<string, KindRules>>;

export type ModelKind = keyof typeof KIND_RULES;

/** What a path of the API names: a whole kind, of one namespace or of all, or one object and perhaps its subresource. */
export interface Place {
  readonly kind: ModelKind;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** The names of the resources under a path such as `/apis/apps/v1`, as discovery tells them; none where it is no such path. */
export function resourcesUnder(path: string): readonly string[] {
  const resources: readonly Resource[] = Object.values(KIND_RULES).map(({ resource }) => resource);
  return resources.filter(({ root }) => root === path).map(({ plural }) => plural);
}

/** The places that were read last: programs ask for the same ones again and again. */
const known = new Map<string, Place | undefined>();
const MOST_KNOWN = 2_000;

/** Reads the path of a request, without its query; undefined where the model knows no such kind. */
export function placeOf(path: string): Place | undefined {
  if (known.has(path)) return known.get(path);
  if (known.size >= MOST_KNOWN) known.clear();
  const place = readPlace(path);
  known.set(path, place);
  return place;
}

function readPlace(path: string): Place | undefined {
  for (const kind of Object.keys(KIND_RULES) as ModelKind[]) {
    const { root, plural, namespaced }: Resource = KIND_RULES[kind].resource;
    if (!path.startsWith(`${root}/`)) continue;
    const parts = path
      .slice(root.length + 1)
      .split('/')
      .map(decodeURIComponent);
    const namespace = namespaced && parts[0] === 'namespaces' ? parts[1] : undefined;
    const [first, name, subresource] = namespace === undefined ? parts : parts.slice(2);
    if (first !== plural) continue;
    return {
      kind,
      ...(namespace === undefined ? {} : { namespace }),
      ...(name === undefined ? {} : { name }),
      ...(subresource === undefined ? {} : { subresource }),
    };
  }
  return undefined;
}
