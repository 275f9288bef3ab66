import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { MAINTENANCE_REQUESTER } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { effectiveDrainPlan, entryCovers } from '../../../src/decide/maintenance/drain-plan.ts';
import { agentNodeOf, selectsNode, stageOf } from '../../../src/decide/maintenance/maintenance.ts';
import { drainPodOf, isTerminal, podTypeOf } from '../../../src/decide/pod.ts';
import type { Write } from '../audit.ts';
import type { Change } from '../timeline.ts';
import { isCovered, type Moment } from './coverage.ts';
import { replay, type Scene } from './replay.ts';
import type { Violation } from './violation.ts';

/** A program acts on what it has seen last: so much later it has seen it, and its call has arrived. */
const LAG_MS = 2_500;
const REMOVALS = new Set(['create pods/eviction', 'delete pods']);

/** The time of the last state in which something held of a pod, by its UID. */
type Times = Map<string, number>;

const uidOf = (pod: Pod): string => pod.metadata.uid ?? '';
const nameOf = (pod: Pod): string => `${podTypeOf(pod)} pod ${pod.metadata.namespace}/${pod.metadata.name}`;

function within(times: Times, uid: string, at: number): boolean {
  return at - (times.get(uid) ?? -Infinity) <= LAG_MS;
}

function hasRequester(request: EvictionRequest | undefined, ours: boolean): boolean {
  return request?.spec.requesters?.some(({ name }) => (name === MAINTENANCE_REQUESTER) === ours) === true;
}

/** What was true of nodes and maintenances until a moment. */
interface Former {
  readonly until: number;
  readonly moment: Moment;
}

/** The place of a pod in the plan of a maintenance. */
function rankOf({ spec }: NodeMaintenance, pod: Pod): number {
  const view = drainPodOf(pod);
  return effectiveDrainPlan(spec.drainPlan ?? []).findIndex((entry) => entryCovers(entry, view));
}

/** A pod on the same node that every drain of the node takes earlier, and that was there for a while. */
function earlierPod({ nodes, pods, maintenances }: Moment, pod: Pod, bornAt: Times, at: number): Pod | undefined {
  const node = nodes.find(({ metadata }) => metadata.name === pod.spec.nodeName);
  if (node === undefined) return undefined;
  const drains = maintenances.filter((each) => stageOf(each) === 'Drain' && selectsNode(each, node));
  // A machine that goes down waits for a pod until seven minutes after its grace period (docs/internals/waits.md).
  const endedBefore = drains.some((each) => agentNodeOf(each) !== undefined) ? at - 420_000 : -Infinity;
  return pods.find((other) => {
    if (other.spec.nodeName !== pod.spec.nodeName || isTerminal(other) || !bornAt.has(uidOf(other))) return false;
    if (Date.parse(other.metadata.deletionTimestamp ?? '') < endedBefore) return false;
    const isOld = at - (bornAt.get(uidOf(other)) ?? at) > LAG_MS;
    return isOld && drains.every((drain) => rankOf(drain, other) < rankOf(drain, pod));
  });
}

/** Checks the order in which pods are asked to leave by these users, and that a drain covers those that are. */
export function checkLeaving(
  changes: readonly Change[],
  writes: readonly Write[],
  ours: readonly string[],
): Violation[] {
  const found: Violation[] = [];
  const authors = new Map<number, string>();
  for (const { revision, user } of writes)
    if (revision !== undefined && !authors.has(revision)) authors.set(revision, user);
  const removals = writes.filter(({ verb, resource }) => REMOVALS.has(`${verb} ${resource}`));
  const coveredAt: Times = new Map();
  const wantedAt: Times = new Map();
  const bornAt: Times = new Map();
  let lately: readonly Former[] = [];
  // Who acts has copies of nodes, of maintenances and of pods, each of them up to so much older than what is so.
  const isCoveredLately = (present: Moment, pod: Pod, at: number): boolean => {
    if (isCovered(present, pod) || within(coveredAt, uidOf(pod), at)) return true;
    const moments = [...lately.flatMap(({ moment, until }) => (at - until <= LAG_MS ? [moment] : [])), present];
    return moments.some(({ nodes }) =>
      moments.some(({ maintenances }) => isCovered({ ...present, nodes, maintenances }, pod)),
    );
  };

  const checkRequest = ({ change, before, present }: Scene): void => {
    const request = change.object as EvictionRequest;
    if (change.deleted || !ours.includes(authors.get(change.revision) ?? '')) return;
    if (!hasRequester(request, true) || hasRequester(before as EvictionRequest | undefined, true)) return;
    const pod = present.pods.find((each) => uidOf(each) === request.metadata.name);
    if (pod === undefined || isCoveredLately(present, pod, change.at)) return;
    const detail = `${nameOf(pod)} on ${pod.spec.nodeName} at revision ${change.revision}`;
    found.push({ invariant: 'covered', what: `a ${podTypeOf(pod)} pod is requested that no drain covers`, detail });
  };

  const checkRemoval = ({ change, before, present, requestOf }: Scene): void => {
    const pod = change.object as Pod;
    const wasLeaving = before === undefined || before.metadata.deletionTimestamp !== undefined;
    if (wasLeaving || (pod.metadata.deletionTimestamp === undefined && !change.deleted)) return;
    // The last one before the change: an earlier one may have been for a namesake that is gone.
    const last = removals.findLast(({ key, at }) => key === change.key && at <= change.at);
    const isOurs = last !== undefined && ours.includes(last.user) && change.at - last.at < LAG_MS;
    const uid = uidOf(pod);
    if (!isOurs || isCoveredLately(present, pod, change.at)) return;
    const isWanted = hasRequester(requestOf(uid), false) || within(wantedAt, uid, change.at);
    if (isWanted && podTypeOf(pod) === 'Default') return;
    const detail = `${nameOf(pod)} on ${pod.spec.nodeName} at revision ${change.revision}`;
    found.push({ invariant: 'covered', what: `a ${podTypeOf(pod)} pod is evicted that no drain covers`, detail });
  };

  const checkTiers = ({ change, past, present }: Scene): void => {
    for (const pod of present.pods) {
      const uid = uidOf(pod);
      if (isTerminal(pod) || !isCovered(present, pod) || isCovered(past, pod) || within(coveredAt, uid, change.at))
        continue;
      const earlier = earlierPod(present, pod, bornAt, change.at);
      if (earlier === undefined) continue;
      const detail = `${nameOf(pod)} before ${nameOf(earlier)} by ${change.key} at revision ${change.revision}`;
      const what = `a ${podTypeOf(pod)} pod is targeted while an earlier ${podTypeOf(earlier)} pod is on its node`;
      found.push({ invariant: 'tiers', what, detail });
    }
  };

  replay(changes, (scene) => {
    const { change, past } = scene;
    if (change.kind === 'Node' || change.kind === 'NodeMaintenance') {
      const recent = lately.filter(({ until }) => change.at - until <= LAG_MS);
      lately = [...recent, { until: change.at, moment: past }];
    }
    for (const pod of past.pods) {
      if (isCovered(past, pod)) coveredAt.set(uidOf(pod), change.at);
      if (hasRequester(scene.requestOf(uidOf(pod)), false)) wantedAt.set(uidOf(pod), change.at);
      if (pod.spec.nodeName !== undefined && !bornAt.has(uidOf(pod))) bornAt.set(uidOf(pod), change.at);
    }
    if (change.kind === 'EvictionRequest') checkRequest(scene);
    if (change.kind === 'Pod') checkRemoval(scene);
    if (change.kind === 'NodeMaintenance') checkTiers(scene);
  });
  return found;
}
