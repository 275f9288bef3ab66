import type { EvictionRequest } from '../../api/eviction-request.ts';
import {
  admitEvictions,
  type EvictionCandidate,
  type EvictionPlace,
  type Flight,
  flightOf,
} from '../../decide/eviction/limits.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { requestNodeOf } from '../../decide/node-label.ts';
import { podByUid } from '../cache/pods.ts';
import type { ControllerContext } from '../context.ts';
import { type EvictionIntent, requestKeyOf } from './wanted-evictions.ts';

/** The pod of an eviction that is perhaps in flight. */
interface Target {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly request: EvictionRequest | undefined;
}

type Known = Pick<ControllerContext, 'pods' | 'requests'>;
type FlightOfTarget = (target: Target) => Flight;

/** How far evictions are, by all that is known when it is called. */
function createFlights({ pods }: Known, overdueBefore: number): FlightOfTarget {
  return (target) => {
    const pod = podByUid(pods, target);
    const inBackgroundSince =
      pod === undefined ? undefined : pods.inBackground.sinceOf(`${target.namespace}/${target.name}`);
    return flightOf({ pod, request: target.request, inBackgroundSince }, overdueBefore);
  };
}

/** The pods beside `own`, by their UIDs, whose eviction is asked for, or that are annotated as being evicted. */
function targetsElsewhere({ pods, requests }: Known, own: ReadonlySet<string>): Iterable<Target> {
  const found = new Map<string, Target>();
  const add = (target: Target): void => {
    if (!own.has(target.uid) && !found.has(target.uid)) found.set(target.uid, target);
  };
  for (const request of requests.list()) {
    const { namespace = 'default' } = request.metadata;
    if (!isFinished(request)) add({ namespace, ...request.spec.target.pod, request });
  }
  for (const key of pods.inBackground.keys()) {
    const metadata = pods.get(key)?.metadata;
    // A pod that somebody else has deleted is nobody's eviction.
    if (metadata === undefined || metadata.deletionTimestamp !== undefined) continue;
    const { namespace = 'default', name, uid = '' } = metadata;
    add({ namespace, name, uid, request: undefined });
  }
  return found.values();
}

/** What is in flight for pods that are not among those that are wanted, whoever asked for it, and is not overdue. */
function placesElsewhere(known: Known, own: ReadonlySet<string>, flight: FlightOfTarget): readonly EvictionPlace[] {
  return [...targetsElsewhere(known, own)].flatMap((target): readonly EvictionPlace[] => {
    if (flight(target) !== 'in-flight') return [];
    const { namespace, request } = target;
    const byLabel = request === undefined ? '' : requestNodeOf(request.metadata);
    return [{ node: podByUid(known.pods, target)?.spec.nodeName ?? byLabel, namespace }];
  });
}

/** Splits the evictions of maintenances by the limits of evictions in flight. */
export interface EvictionLimiter {
  /** Which of the evictions that the resolution of a maintenance asks for may begin at `now`, in milliseconds since the epoch. */
  split(
    maintenance: string,
    intents: readonly EvictionIntent[],
    now: number,
  ): ReturnType<typeof admitEvictions<EvictionIntent & EvictionCandidate>>;
  /** Forgets a maintenance that does not drain any more. */
  forget(maintenance: string): void;
}

/** Creates it. What it has admitted counts until our copies show its request: many maintenances may begin in the same moment. */
export function createEvictionLimiter(context: ControllerContext): EvictionLimiter {
  const { maxEvictionsPerNode, maxEvictionsPerNamespace, maxEvictionTime } = context.options;
  const isLimited = maxEvictionsPerNode !== undefined || maxEvictionsPerNamespace !== undefined;
  /** By maintenance. */
  const admittedOf = new Map<string, readonly EvictionIntent[]>();
  const notYetRequested = (own: ReadonlySet<string>): readonly EvictionPlace[] =>
    [...admittedOf.values()]
      .flat()
      .filter(({ pod }) => !own.has(pod.uid) && context.requests.get(requestKeyOf(pod)) === undefined)
      .filter(({ pod }) => podByUid(context.pods, pod) !== undefined)
      .map(({ node, pod: { namespace } }) => ({ node, namespace }));
  return {
    split: (maintenance, intents, now) => {
      const overdueBefore = maxEvictionTime === 0 ? -Infinity : now - maxEvictionTime;
      const flight = createFlights(context, overdueBefore);
      const candidates = intents.map(({ node, pod }) => {
        const { namespace, name, uid } = pod;
        const request = isLimited ? context.requests.get(requestKeyOf(pod)) : undefined;
        const how = isLimited ? flight({ namespace, name, uid, request }) : 'not-begun';
        return { node, pod, namespace, flight: how };
      });
      if (!isLimited) return { admitted: candidates, overLimit: [] };
      const own = new Set(intents.map(({ pod }) => pod.uid));
      admittedOf.delete(maintenance);
      const elsewhere = [...placesElsewhere(context, own, flight), ...notYetRequested(own)];
      const split = admitEvictions(candidates, context.options, elsewhere);
      admittedOf.set(maintenance, split.admitted);
      return split;
    },
    forget: (maintenance) => {
      admittedOf.delete(maintenance);
    },
  };
}
