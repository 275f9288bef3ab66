/** When a machine that goes down is let go: nothing is left on it but what cannot leave. */
import type { Pod } from '../../api/pod.ts';
import { endOf, isTerminal, podName, podTypeOf } from '../pod.ts';
import type { OfflineView } from '../shutdown/unseen-pods.ts';
import { CAME_TOO_LATE, comesTooLate } from './returning-pod.ts';
import { URL_PODS_LEFT } from '../static-pod/url-pods.ts';
import {
  describeLeft,
  endsOnNode,
  type GoingDown,
  type Left,
  leftPod,
  NOT_ENDED,
  waitedUntil,
} from './staying-pods.ts';

/** Whether a drain has nothing left to wait for. */
export interface DrainEnd {
  readonly drained: boolean;
  /** What is left that cannot leave, and why; absent where nothing is, or something else is left too. */
  readonly left?: string;
  /** Why the agent goes on without the cluster: alone it can end some of what is left; absent where it cannot. */
  readonly endsAlone?: string;
}

/** Judges what is left; undefined where nobody could see all of it. */
export function drainEnd(all: readonly Left[] | undefined): DrainEnd {
  if (all === undefined || all.some(({ stays }) => stays === undefined)) return { drained: false };
  const left = describeLeft(all);
  if (left === undefined) return { drained: true };
  // A kubelet that is stopped starts nothing that comes again.
  const endsAlone = all.some(({ stays }) => stays === CAME_TOO_LATE) ? { endsAlone: left } : {};
  return { drained: true, left, ...endsAlone };
}

/** What is known of the manifests of the node's static pods. */
export interface KnownManifests {
  /**
   * When the grace period of each static pod ends that has a manifest here, in milliseconds since the epoch, by NAMESPACE/NAME;
   * undefined for one that was not told to end.
   */
  readonly ends: ReadonlyMap<string, number | undefined>;
  /** Those whose containers run, or may run. */
  readonly running: ReadonlySet<string>;
  /** Why no manifest may be moved; absent where they may be. */
  readonly refusal?: string;
}

/** What the pods of a machine that goes down are judged by. */
interface LeftScope extends GoingDown {
  /** Why nobody can end pods any more, because the container runtime is away; undefined while it can be waited for. */
  readonly nobodyEnds?: string | undefined;
}

/** The end of a pod's grace period, in milliseconds since the epoch; undefined for one that was not told to end. */
interface Ends {
  /** As it was told. */
  readonly told: number | undefined;
  /** As who ends it here can keep it, `endsOnNode`. */
  readonly here: number | undefined;
}

/** Why a machine that goes down does not wait for a pod; undefined where it does. */
function whyGivenUp(
  { told, here }: Ends,
  isAsked: boolean,
  { since, now, readySince, nobodyEnds: why }: LeftScope,
): string | undefined {
  if (since === undefined) return undefined;
  if (waitedUntil(here, { readySince }) <= now) return NOT_ENDED;
  // What was promised, or asked of others, is waited for all the same.
  return !isAsked && (told ?? now) <= now ? why : undefined;
}

/**
 * What is left of these pods of the API server, on a machine that goes down, and of static pods that it does not know. A static
 * pod without a manifest that could be moved stays, unless it is terminating: then its manifest was moved before.
 */
export function leftOf(
  pods: readonly Pod[],
  { ends, running, refusal }: KnownManifests,
  scope: LeftScope,
): readonly Left[] {
  const leftAs = (what: string, stays: string | undefined): Left => (stays === undefined ? { what } : { what, stays });
  const known = new Set<string>();
  const told = pods
    .filter((pod) => !isTerminal(pod))
    .map((pod): Left => {
      const { deletionTimestamp } = pod.metadata;
      const what = podName(pod.metadata);
      known.add(what);
      if (comesTooLate(pod, scope.since)) return { what, stays: CAME_TOO_LATE };
      const podType = podTypeOf(pod);
      if (podType === 'Static' && deletionTimestamp === undefined && !ends.has(what)) {
        return { what, stays: refusal === undefined ? URL_PODS_LEFT : manifestsRefused(refusal) };
      }
      const endsAt = endOf(pod)?.endsAt ?? ends.get(what);
      const isAsked = podType === 'Default' && endsAt === undefined;
      return leftAs(what, whyGivenUp({ told: endsAt, here: endsOnNode(pod, scope) ?? endsAt }, isAsked, scope));
    });
  const others = [...running].filter((what) => !known.has(what));
  const givenUp = (what: string): string | undefined =>
    whyGivenUp({ told: ends.get(what), here: ends.get(what) }, false, scope);
  return [...told, ...others.map((what) => leftAs(what, givenUp(what)))];
}

/** Why static pods stay whose manifests may not be moved; their names follow. */
export function manifestsRefused(refusal: string): string {
  return `no manifest of a static pod may be moved, because ${refusal}`;
}

/** The pods that stay because nobody on the machine can end them, for this reason; none where somebody can. */
export function nobodyEnds(view: OfflineView, whyNone: string | undefined): readonly Left[] {
  if (whyNone === undefined) return [];
  const stays = `nobody on this machine can end pods that the kubelet has from the API server, because ${whyNone}`;
  if (view.kind === 'unseen') return [{ what: `which ones run is not known (${view.reason})`, stays }];
  return view.pods.map((pod) => leftPod({ ...pod, stays }));
}
