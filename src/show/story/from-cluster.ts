/** The story of a NodeMaintenance on one of its nodes, from what the cluster's objects have kept of it. */
import { EVICTED, type EvictionRequest } from '../../api/eviction-request.ts';
import { IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import { DRAINED, type NodeMaintenance } from '../../api/node-maintenance.ts';
import { requestedBy } from '../../decide/maintenance/maintenance.ts';
import { entryCovers, planOf } from '../../decide/maintenance/drain-plan.ts';
import { drainPodOf } from '../../decide/pod.ts';
import type { Pod } from '../../api/pod.ts';
import { timeOf } from '../../decide/time.ts';
import { shortCause } from '../progress/blocking-causes.ts';
import { printable, shortened } from '../../printable.ts';
import {
  type ShutdownStory,
  STORY_LIMITS,
  type StoryEvent,
  type StoryPod,
  type StoryTier,
  waitKindOf,
} from './story.ts';

/** The objects of one node. */
interface NodeObjects {
  readonly node: string;
  readonly requests: readonly EvictionRequest[];
  /** The pods that are still there. */
  readonly pods: readonly Pod[];
}

function textOf(text: string): string {
  return shortened(printable(text), STORY_LIMITS.text);
}

function podOf(request: EvictionRequest, tier: StoryTier | undefined, begunAt: number): StoryPod {
  const { metadata, spec, status } = request;
  const askedAt = Math.max(begunAt, timeOf(metadata.creationTimestamp) ?? begunAt);
  const evicted = status?.conditions?.find(({ type, status: is }) => type === EVICTED && is === 'True');
  const goneAt = timeOf(evicted?.lastTransitionTime);
  const waits = (status?.interceptors ?? [])
    .filter(({ startTime }) => startTime !== undefined)
    .map(({ name, startTime, message = '' }) => {
      const said = textOf(shortCause(message));
      return {
        from: Math.max(askedAt, timeOf(startTime) ?? askedAt),
        kind: waitKindOf(name, said),
        on: name,
        message: said,
      };
    });
  // The Eviction API writes nothing while a pod ends as planned; any other interceptor that has not begun keeps the pod.
  const [first] = status?.targetInterceptors ?? [];
  if (waits.length === 0 && first !== undefined) {
    const kind = first.name === IMPERATIVE_INTERCEPTOR ? 'ending' : 'waiting';
    waits.push({ from: askedAt, kind, on: first.name, message: '' });
  }
  return {
    pod: `${metadata.namespace ?? 'default'}/${textOf(spec.target.pod.name)}`,
    askedAt,
    ...(tier === undefined ? {} : { tier }),
    ...(goneAt === undefined ? {} : { goneAt }),
    waits: waits.toSorted((a, b) => a.from - b.from).slice(0, STORY_LIMITS.waits),
  };
}

/** How the maintenance ended, where it has. */
function endOf({ metadata, status }: NodeMaintenance, isDrained: boolean): readonly StoryEvent[] {
  const completedAt = timeOf(status?.stageStatuses?.find(({ name }) => name === 'Complete')?.startTimestamp);
  const deletedAt = timeOf(metadata.deletionTimestamp);
  const at = completedAt ?? deletedAt;
  if (at === undefined) return [];
  const text = `the maintenance is ${completedAt === undefined ? 'deleted' : 'complete'}`;
  return [{ at, what: isDrained ? 'settle' : 'cancel', text }];
}

/**
 * The story of a maintenance on a node; undefined where its drain has not begun. Times are whole seconds. What the cluster
 * has not kept is not in it: finished EvictionRequests are deleted after their time, and of a pod that was refused again
 * and again only the last answer is known.
 */
export function storyOfMaintenance(
  maintenance: NodeMaintenance,
  { node, requests, pods }: NodeObjects,
): ShutdownStory | undefined {
  const { stageStatuses = [], conditions = [] } = maintenance.status ?? {};
  const begunAt = timeOf(stageStatuses.find(({ name }) => name === 'Drain')?.startTimestamp);
  if (begunAt === undefined) return undefined;
  const requester = requestedBy(maintenance);
  const plan = planOf(maintenance);
  const tiers = new Map<string, StoryTier>();
  for (const pod of pods) {
    const entry = plan.find((each) => entryCovers(each, drainPodOf(pod)));
    if (entry !== undefined)
      tiers.set(pod.metadata.uid ?? '', { podType: entry.podType, podPriority: entry.podPriority });
  }
  const own = requests.filter(({ metadata }) => (timeOf(metadata.creationTimestamp) ?? 0) >= begunAt - 60_000);
  const drained = conditions.find(({ type, status }) => type === DRAINED && status === 'True');
  const drainedAt = timeOf(drained?.lastTransitionTime);
  const events: StoryEvent[] = [
    { at: begunAt, what: 'begin', text: '' },
    ...(drainedAt === undefined ? [] : [{ at: drainedAt, what: 'finish', text: '' } as const]),
    ...endOf(maintenance, drainedAt !== undefined),
  ];
  return {
    node,
    maintenance: maintenance.metadata.name,
    origin: 'maintenance',
    begunAt,
    events,
    reason: textOf(maintenance.spec.reason ?? ''),
    ...(requester === undefined ? {} : { requestedBy: textOf(requester) }),
    pods: own.slice(0, STORY_LIMITS.pods).map((each) => podOf(each, tiers.get(each.spec.target.pod.uid), begunAt)),
    podsLeftOut: Math.max(0, own.length - STORY_LIMITS.pods),
    waits: [],
    returned: [],
  };
}
