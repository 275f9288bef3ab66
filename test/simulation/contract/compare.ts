/** What is compared of two API servers: the statuses of their answers, and the objects without what is each server's own. */
import type { KubeObject, ObjectMeta } from '../../../src/api/meta.ts';
import type { KubeResponse } from '../../../src/kube/client.ts';
import { statusCauses, answeredStatus } from '../../../src/kube/request.ts';
import { sortedJson } from '../../../src/decide/json.ts';

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
/** The fields of built-in types that the model has; a real API server adds defaults that nobody here reads. */
const SPEC_FIELDS: Readonly<Record<string, readonly string[]>> = {
  Pod: ['nodeName', 'terminationGracePeriodSeconds'],
  Node: ['unschedulable'],
  PodDisruptionBudget: ['selector'],
};
const STATUS_FIELDS: Readonly<Record<string, readonly string[]>> = {
  Pod: ['phase', 'conditions'],
  Node: ['conditions'],
  PodDisruptionBudget: ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy'],
};

type Json = Record<string, unknown>;

/** Times differ, and so do UIDs, which are told apart by the order in which a server gave them. */
function neutral(value: unknown, uids: Map<string, string>): unknown {
  if (typeof value === 'string') {
    if (TIME.test(value)) return 'TIME';
    return uids.get(value) ?? value;
  }
  if (Array.isArray(value)) return value.map((each) => neutral(each, uids));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, each]) => [uids.get(name) ?? name, neutral(each, uids)] as const);
  return Object.fromEntries(entries.filter(([name]) => !OWN_FIELDS.has(name)));
}

const OWN_FIELDS = new Set(['managedFields', 'resourceVersion', 'observedGeneration']);

function some(value: unknown, fields: readonly string[] | undefined): unknown {
  if (fields === undefined || value === undefined) return value;
  return Object.fromEntries(Object.entries(value as Json).filter(([name]) => fields.includes(name)));
}

/** Built-in conditions have fields with no value in it. */
function conditionsOf(status: unknown): unknown {
  const { conditions, ...rest } = (status ?? {}) as { conditions?: readonly Json[] };
  if (conditions === undefined) return status;
  const clean = conditions.map((each) =>
    Object.fromEntries(
      Object.entries(each).filter(
        ([name, value]) => value !== null && name !== 'observedGeneration' && !name.endsWith('Time'),
      ),
    ),
  );
  return { ...rest, conditions: clean.toSorted((a, b) => (String(a['type']) < String(b['type']) ? -1 : 1)) };
}

/** Remembers the UID of an object by the order in which they come. */
function noteUid({ uid }: Partial<ObjectMeta>, uids: Map<string, string>): void {
  if (uid !== undefined && !uids.has(uid)) uids.set(uid, `UID-${uids.size}`);
}

/** An object as text that is the same for both servers. */
export function comparable(kind: string, object: KubeObject, uids: Map<string, string>): string {
  noteUid(object.metadata, uids);
  const { spec, status, metadata } = object as unknown as { spec?: unknown; status?: Json; metadata: Json };
  const told = conditionsOf(some(kind === 'Pod' ? { phase: 'Pending', ...status } : status, STATUS_FIELDS[kind]));
  const isEmpty = told === undefined || Object.keys(told as object).length === 0;
  // Whether a Node or another built-in object counts its changes differs from release to release.
  const { generation: _, ...meta } = metadata;
  const isCounted = kind === 'NodeMaintenance' || kind === 'EvictionRequest';
  const whole = {
    metadata: isCounted ? metadata : meta,
    spec: some(spec, SPEC_FIELDS[kind]),
    ...(isEmpty ? {} : { status: told }),
  };
  return sortedJson(neutral(whole, uids));
}

/** An answer as text: its status, and for a refused eviction why. */
export function comparableAnswer(response: KubeResponse): string {
  // A patch that names the UID of another object: this program tells it from other invalid ones.
  if (response.status === 422) return answeredStatus(response) === 409 ? '422 for its UID' : '422';
  const causes = response.status === 429 ? statusCauses(response).map(({ message }) => message) : [];
  return [response.status, ...causes].join(' ');
}
