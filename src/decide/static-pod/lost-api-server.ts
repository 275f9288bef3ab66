/**
 * The way from a node to the API server over a static pod of its own. What is known to carry it stays in a drain (`carriersOf`). What
 * is not is put back where the API server is silent since a drain has taken it away: nobody could tell that the drain is over.
 */
import type { ControlPlaneComponent } from './control-plane-pod.ts';
import { MANUAL } from './parked.ts';

/** The API server is asked for so long before its way is given back. */
const SILENCE_MS = 5 * 60_000;
/** Within this time of the end of a pod its connections have ended, too. */
const CUT_MS = 60_000;

/** A parked manifest, as far as the way is concerned. */
interface ParkedWay {
  readonly file: string;
  readonly maintenance: string;
  readonly parkedAt: number;
  readonly graceSec: number;
  readonly component?: ControlPlaneComponent;
}

/** When the API server was asked and heard, in milliseconds since the epoch. */
interface Heard {
  readonly now: number;
  /** When this process began to ask. */
  readonly startedAt: number;
  /** When it answered last; undefined where it never has. */
  readonly heardAt: number | undefined;
}

/** The parked manifests that carry the way: etcd, the API server and proxies, else all, because nothing says which. */
export function wayOf<T extends ParkedWay>(parked: readonly T[]): readonly T[] {
  const own = parked.filter(({ maintenance }) => maintenance !== MANUAL);
  const members = own.filter(({ component }) => component !== undefined);
  return members.length > 0 ? members : own;
}

/** Whether the API server has been silent for so long since a manifest was parked that its way may have gone with that. */
export function isWayLost(parked: readonly ParkedWay[], { now, startedAt, heardAt }: Heard): boolean {
  const way = wayOf(parked);
  if (way.length === 0) return false;
  const cutAt = Math.max(...way.map(({ parkedAt, graceSec }) => parkedAt + graceSec * 1000)) + CUT_MS;
  const silentSince = Math.max(heardAt ?? startedAt, ...way.map(({ parkedAt }) => parkedAt));
  return (heardAt ?? 0) <= cutAt && now - silentSince >= SILENCE_MS;
}
