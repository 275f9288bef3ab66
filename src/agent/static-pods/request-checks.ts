import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { Pod } from '../../api/pod.ts';
import { targetKeyOf } from '../../decide/eviction/request.ts';
import { isSpent } from '../../decide/eviction/spent-request.ts';
import { judgeTarget, type MirrorVerdict } from '../../decide/static-pod/mirror-pod.ts';
import { podKey } from '../../decide/static-pod/moves.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { MirrorPods } from './mirror-pods.ts';
import type { StaticPodView } from './view.ts';

/** Which EvictionRequests are for static pods of this node, as far as that was checked. */
export interface RequestChecks {
  /** Forgets all requests but these. */
  keep(requests: readonly EvictionRequest[]): void;
  /** Whether the request has to be checked: it is new, or it was for another pod when it was checked some time ago. */
  isDue(request: EvictionRequest): boolean;
  /** Checks the requests that are due; a request that is not for a static pod of this node is logged once. */
  check(requests: readonly EvictionRequest[], view: StaticPodView, mirrors: MirrorPods): void;
  /** Undefined for a request that was not checked. */
  verdict(request: EvictionRequest): MirrorVerdict | undefined;
  /** Whether the request is for a static pod of this node and can no longer make it leave. */
  isSpent(request: EvictionRequest): boolean;
}

/** A request that is not for this node's static pods is checked again only this often: a stale one may exist for hours. */
const AGAIN_MS = 30_000;

interface Checked {
  readonly verdict: MirrorVerdict;
  /** The target of the request as it was then; undefined where it was gone. */
  readonly mirror: Pod | undefined;
  /** Monotonic milliseconds. */
  readonly at: number;
}

function idOf(request: EvictionRequest): string {
  return `${request.metadata.namespace}/${request.metadata.name}/${request.metadata.uid}`;
}

/** Creates the checks for the node `nodeName`; nothing was checked yet. */
export function createRequestChecks(
  nodeName: string,
  { clock, log }: { readonly clock: Pick<Clock, 'monotonic' | 'now'>; readonly log: Pick<Log, 'warn'> },
): RequestChecks {
  let checked = new Map<string, Checked>();

  const isDue = (request: EvictionRequest): boolean => {
    const known = checked.get(idOf(request));
    return known === undefined || (known.verdict.kind !== 'ours' && clock.monotonic() >= known.at + AGAIN_MS);
  };

  return {
    isDue,
    keep: (requests) => {
      const ids = new Set(requests.map(idOf));
      checked = new Map([...checked].filter(([id]) => ids.has(id)));
    },
    check: (requests, view, mirrors) => {
      for (const request of requests.filter(isDue)) {
        const isNew = !checked.has(idOf(request));
        const key = targetKeyOf(request);
        const isParked = view.parked.some((pod) => podKey(pod) === key);
        const mirror = mirrors.get(key);
        const verdict = judgeTarget(request, mirror, { nodeName, isParked });
        checked.set(idOf(request), { verdict, mirror, at: clock.monotonic() });
        if (verdict.kind === 'ours' || !isNew) continue;
        const subject = { evictionRequest: request.metadata.name, reason: verdict.message };
        log.warn(subject, 'eviction request not acted upon');
      }
    },
    verdict: (request) => checked.get(idOf(request))?.verdict,
    isSpent: (request) => {
      const known = checked.get(idOf(request));
      if (known?.mirror === undefined || known.verdict.kind !== 'ours') return false;
      return isSpent(request, known.mirror, clock.now());
    },
  };
}
