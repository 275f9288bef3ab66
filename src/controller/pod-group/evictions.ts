/** Evicts pods of PodGroups for drains, without EvictionRequests, which do not support them (KEP-4563). */
import type { Pod } from '../../api/pod.ts';
import { budgetTooSmall, groupNameOf } from '../../decide/pod-group/pod-group.ts';
import { readDisruptionMode } from '../../kube/pod-group/disruption-mode.ts';
import { keyOf } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import { attemptEviction } from '../eviction/attempt.ts';

/** While another pod of the group is worked on, and until our copies show what became of that. */
const BUSY_AGAIN_MS = 1_000;
/** How often a group is tried that is blocked: budgets change without our being told for groups. */
const BLOCKED_AGAIN_MS = 5_000;

/** A group is tried at even intervals, however often it was refused. */
const NOTHING_BEFORE = { count: 0, postponed: 0 } as const;

/** What has become of the eviction of a pod. */
export interface GroupStep {
  readonly againMs: number;
  /** Why it is still there, as a sentence; absent while nothing blocks it. */
  readonly refused?: string;
}

/** The evictions of pods of groups. */
export interface GroupEvictions {
  /** Takes the next step for one pod that a drain targets. Throws API_UNREACHABLE and API_REFUSED. */
  evict(pod: Pod, signal: AbortSignal): Promise<GroupStep>;
}

/** Asks for the eviction of all these pods. Returns why one of them is refused; undefined where none is. */
async function ask(
  context: ControllerContext,
  pods: readonly Pod[],
  isTrial: boolean,
  signal: AbortSignal,
): Promise<string | undefined> {
  const refusals = await Promise.all(
    pods.map(async (pod) => {
      const { outcome, answer } = await attemptEviction(context, { pod, memory: NOTHING_BEFORE, isTrial }, signal);
      if (!isTrial) {
        context.metrics.evictionAttempted(outcome.kind);
        context.log.info({ pod: keyOf(pod), group: groupNameOf(pod), ...outcome }, 'evicted a pod of a group');
      }
      const isRefused = outcome.kind === 'blocked' || outcome.kind === 'postponed';
      return isRefused ? `Pod ${pod.metadata.name}: ${answer}` : undefined;
    }),
  );
  return refusals.find((refusal) => refusal !== undefined);
}

/** The pods of the same group that are to leave with this one, which comes first. */
async function leaversWith(context: ControllerContext, pod: Pod, signal: AbortSignal): Promise<readonly Pod[]> {
  const { namespace = '' } = pod.metadata;
  const name = groupNameOf(pod);
  if (name === undefined) return [pod];
  const mode = await readDisruptionMode(context.client, { namespace, name }, signal);
  const others = mode === 'single' ? [] : context.pods.inGroup(`${namespace}/${name}`);
  return [
    pod,
    ...others.filter(({ metadata }) => metadata.deletionTimestamp === undefined && metadata.uid !== pod.metadata.uid),
  ];
}

/** One step for a pod and those that leave with it: first all of them are tried, so that none leaves where one cannot. */
async function step(context: ControllerContext, pod: Pod, signal: AbortSignal): Promise<GroupStep> {
  const leavers = await leaversWith(context, pod, signal);
  const isTogether = leavers.length > 1;
  const areAsked = context.budgetRule.whyNotAsked(pod) === undefined;
  const tooSmall =
    isTogether && areAsked ? budgetTooSmall(groupNameOf(pod) ?? '', leavers, context.budgets.list()) : undefined;
  const refused =
    tooSmall ??
    (isTogether ? await ask(context, leavers, true, signal) : undefined) ??
    (await ask(context, leavers, false, signal));
  return refused === undefined ? { againMs: BUSY_AGAIN_MS } : { againMs: BLOCKED_AGAIN_MS, refused };
}

/** Remembers by group what its last step has come to: one pod of a group acts, the others say the same. */
export function createGroupEvictions(context: ControllerContext): GroupEvictions {
  const { clock } = context;
  const groups = new Map<string, { readonly until: number; readonly step: GroupStep }>();
  return {
    evict: async (pod, signal) => {
      const key = `${pod.metadata.namespace}/${groupNameOf(pod) ?? pod.metadata.name}`;
      const now = clock.monotonic();
      for (const [known, { until }] of groups) if (now >= until) groups.delete(known);
      const last = groups.get(key);
      if (last !== undefined) return { ...last.step, againMs: Math.min(last.until - now, last.step.againMs) };
      // Until the answers are there, nobody else of the group asks.
      groups.set(key, { until: Infinity, step: { againMs: BUSY_AGAIN_MS } });
      try {
        const done = await step(context, pod, signal);
        groups.set(key, { until: clock.monotonic() + done.againMs, step: done });
        return done;
      } catch (error) {
        groups.delete(key);
        throw error;
      }
    },
  };
}
