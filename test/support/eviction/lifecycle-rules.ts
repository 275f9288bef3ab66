/**
 * The rules by which the API server of Kubernetes 1.37 judges each write of an Eviction's status
 * (pkg/apis/lifecycle/validation/validation.go), written down once more: its 125 cases are of these rules.
 */
import type { EvictionStatus, ResponderState, ResponderStatus, TargetResponder } from '../../../src/api/lifecycle.ts';
import { compareResponders } from '../../../src/decide/lifecycle/responders.ts';

const HEARTBEAT_DEADLINE_MS = 20 * 60_000;
const SKEW_MS = 30_000;
const MAX_COMPLETION_MS = 10 * 365 * 24 * 3_600_000;
const FINAL = ['Interrupted', 'Canceled', 'Completed'];

/** Names of conditions, and their reasons. */
const TYPE = /^([a-z0-9][-a-z0-9.]*\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/u;
const REASON = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/u;

type Entries = NonNullable<EvictionStatus['responders']>;

function isFinal({ conditions = [] }: EvictionStatus): boolean {
  return conditions.some(({ type, status }) => (type === 'TargetEvicted' || type === 'Failed') && status === 'True');
}

function keys(list: readonly { readonly name: string }[]): string {
  return list
    .map(({ name }) => name)
    .toSorted()
    .join();
}

function at(time: string | undefined): number {
  return Date.parse(time ?? '');
}

/** The states that a responder may have after the write, by its place in the order. */
function allowedStates(
  order: readonly TargetResponder[],
  was: EvictionStatus,
  is: EvictionStatus,
  index: number,
): readonly ResponderState[] {
  const oldOf = (name: string | undefined): ResponderState | undefined =>
    was.targetResponders?.find((each) => each.name === name)?.state;
  const stateOf = (place: number): ResponderState | undefined => oldOf(order[place]?.name);
  const active = order.findIndex((_, place) => stateOf(place) === 'Active');
  const own = stateOf(index);
  const isFirstWrite = (was.targetResponders ?? []).length === 0;
  if (isFirstWrite) return index === 0 ? [isFinal(is) ? 'Inactive' : 'Active'] : ['Inactive'];
  if (active === -1 || index < active) return own === undefined ? [] : [own];
  if (index === active) {
    if (order[active]?.state !== 'Active' || isFinal(is)) return FINAL as ResponderState[];
    return ['Active'];
  }
  const hasPassedOn = order[active]?.state !== 'Active';
  return index === active + 1 && hasPassedOn && !isFinal(is) ? ['Active'] : ['Inactive'];
}

function stateErrors(was: EvictionStatus, is: EvictionStatus, now: number): readonly string[] {
  const order = (is.targetResponders ?? []).toSorted(compareResponders);
  return order.flatMap(({ name, state }, index) => {
    const errors: string[] = [];
    const allowed = allowedStates(order, was, is, index);
    if (!allowed.includes(state)) errors.push(`${name} is ${state}, and must be one of ${allowed.join()}`);
    const old = was.targetResponders?.find((each) => each.name === name);
    const entry = was.responders?.find((each) => each.name === name);
    if (old?.state !== 'Active' || state === 'Active') return errors;
    const isDone = entry?.completionTime !== undefined;
    if (state === 'Completed' && !isDone) errors.push(`${name} cannot become Completed without completionTime`);
    const silentSince = at(entry?.heartbeatTime ?? entry?.startTime);
    if (!isDone && !isFinal(is) && now < silentSince + HEARTBEAT_DEADLINE_MS - SKEW_MS) {
      errors.push(`${name} must stay Active because it is in progress`);
    }
    return errors;
  });
}

function timeErrors(
  name: string,
  field: keyof ResponderStatus,
  [old, now]: readonly [string | undefined, string | undefined],
  clock: number,
): readonly string[] {
  const errors: string[] = [];
  if (old !== undefined && now === undefined) errors.push(`${name}.${field} is required once set`);
  if (now !== undefined && now !== old && Math.abs(at(now) - clock) >= SKEW_MS) {
    errors.push(`${name}.${field} must be set to the present time`);
  }
  return errors;
}

function entryErrors(was: Entries, is: EvictionStatus, clock: number): readonly string[] {
  return (is.responders ?? []).flatMap((entry) => {
    const { name } = entry;
    const old: ResponderStatus = was.find((each) => each.name === name) ?? { name };
    const isActive = is.targetResponders?.find((each) => each.name === name)?.state === 'Active';
    if (!isActive) return JSON.stringify(entry) === JSON.stringify(old) ? [] : [`${name}: field is immutable`];
    const errors: string[] = [];
    const start = at(entry.startTime);
    if (entry.startTime === undefined) errors.push(`${name}.startTime is required for an active responder`);
    for (const field of ['startTime', 'completionTime'] as const) {
      errors.push(...timeErrors(name, field, [old[field], entry[field]], clock));
      if (old[field] !== undefined && old[field] !== entry[field]) errors.push(`${name}.${field} is immutable`);
    }
    errors.push(...timeErrors(name, 'heartbeatTime', [old.heartbeatTime, entry.heartbeatTime], clock));
    if (at(entry.heartbeatTime) < at(old.heartbeatTime)) errors.push(`${name}.heartbeatTime cannot be decreased`);
    for (const field of ['heartbeatTime', 'completionTime', 'expectedCompletionTime'] as const) {
      if (at(entry[field]) < start) errors.push(`${name}.${field} must occur after startTime`);
    }
    const expected = entry.expectedCompletionTime;
    if (expected !== undefined && expected !== old.expectedCompletionTime) {
      if (at(expected) < clock - SKEW_MS) errors.push(`${name}.expectedCompletionTime cannot be set to the past time`);
      if (at(expected) > clock + MAX_COMPLETION_MS) errors.push(`${name} must complete within 10 years`);
    }
    if (Array.from(entry.message ?? '').length > 4_000) errors.push(`${name}.message is too long`);
    return errors;
  });
}

function conditionErrors(was: EvictionStatus, is: EvictionStatus): readonly string[] {
  const types = (is.conditions ?? []).map(({ type }) => type);
  const double = types.length === new Set(types).size ? [] : ['conditions: duplicate type'];
  const empty = (is.conditions ?? []).flatMap(({ type, reason, lastTransitionTime }) =>
    !REASON.test(reason) || !TYPE.test(type) || Number.isNaN(at(lastTransitionTime))
      ? [`${type} needs a name, a reason and a time`]
      : [],
  );
  const reverted = (was.conditions ?? []).flatMap(({ type, status, reason }) => {
    if (status !== 'True' || (type !== 'TargetEvicted' && type !== 'Failed')) return [];
    const now = is.conditions?.find((each) => each.type === type);
    return now?.status === 'True' && now.reason === reason ? [] : [`${type} condition status cannot be reverted`];
  });
  return [...double, ...empty, ...reverted];
}

/** Why the API server would refuse the write of `is` over `was`; empty where it takes it. `now` is its clock, in ms. */
export function statusErrors(was: EvictionStatus, is: EvictionStatus, now: number): readonly string[] {
  const [targets = [], responders = []] = [is.targetResponders, is.responders];
  const errors: string[] = [];
  const before = was.targetResponders ?? [];
  if (before.length > 0 && keys(before) !== keys(targets)) errors.push('targetResponders must preserve the same keys');
  if (keys(targets) !== keys(responders)) errors.push('responders must contain the same keys as targetResponders');
  for (const { name, priority } of targets) {
    const isAllowed = name === 'imperative-eviction.k8s.io/evictor' ? priority === 100 : priority >= 1_000;
    if (!isAllowed || priority > 100_000) errors.push(`${name}: priority ${priority}`);
  }
  if (targets.length > 11) errors.push('too many targetResponders');
  if ((is.requesters ?? []).length > 100) errors.push('too many requesters');
  if ((was.observedGeneration ?? 0) > (is.observedGeneration ?? 0))
    errors.push('observedGeneration cannot be decreased');
  return [
    ...errors,
    ...stateErrors(was, is, now),
    ...entryErrors(was.responders ?? [], is, now),
    ...conditionErrors(was, is),
  ];
}
