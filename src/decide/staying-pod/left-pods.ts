/** When a machine that goes down is let go: nothing is left on it but what cannot leave. */
import type { Pod } from '../../api/pod.ts';
import { isTerminal, podTypeOf } from '../pod.ts';
import type { OfflineView } from '../shutdown/offline-view.ts';
import { CAME_TOO_LATE, comesTooLate } from './returning-pod.ts';
import { URL_PODS_LEFT } from '../static-pod/url-pods.ts';

/** A pod or a volume that is left on a machine that goes down. */
export interface Left {
  /** Of a pod NAMESPACE/NAME. */
  readonly what: string;
  /** Why nobody here can make it leave before the machine goes down; absent where it can leave, or is leaving. */
  readonly stays?: string;
}

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
  const byReason = new Map<string, string[]>();
  for (const { what, stays } of all ?? []) {
    if (stays === undefined) return { drained: false };
    byReason.set(stays, [...(byReason.get(stays) ?? []), what]);
  }
  if (all === undefined) return { drained: false };
  if (byReason.size === 0) return { drained: true };
  const left = [...byReason].map(([why, names]) => `${why}: ${names.toSorted().join(', ')}`).join('; ');
  // A kubelet that is stopped starts nothing that comes again.
  return { drained: true, left, ...(byReason.has(CAME_TOO_LATE) ? { endsAlone: left } : {}) };
}

/** What is known of the manifests of the node's static pods. */
export interface KnownManifests {
  /** The static pods that have a manifest here, in place or parked, as NAMESPACE/NAME. */
  readonly keys: ReadonlySet<string>;
  /** Why no manifest may be moved; absent where they may be. */
  readonly refusal?: string;
}

/**
 * What is left of these pods of the API server, on a machine that goes down since then. A static pod without a manifest that
 * could be moved stays, unless it is terminating: then its manifest was moved before.
 */
export function leftOf(pods: readonly Pod[], { keys, refusal }: KnownManifests, since?: number): readonly Left[] {
  return pods
    .filter((pod) => !isTerminal(pod))
    .map((pod): Left => {
      const { name, namespace = 'default', deletionTimestamp } = pod.metadata;
      const what = `${namespace}/${name}`;
      if (comesTooLate(pod, since)) return { what, stays: CAME_TOO_LATE };
      const hasManifest = deletionTimestamp !== undefined || keys.has(what);
      if (podTypeOf(pod) !== 'Static' || hasManifest) return { what };
      return { what, stays: refusal === undefined ? URL_PODS_LEFT : manifestsRefused(refusal) };
    });
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
  return view.pods.map(({ namespace, name }) => ({ what: `${namespace}/${name}`, stays }));
}
