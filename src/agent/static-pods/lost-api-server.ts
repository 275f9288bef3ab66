import type { Phase } from '../../decide/shutdown/phase.ts';
import { carriersOf, isAddressOfNode } from '../../decide/static-pod/control-plane-pod.ts';
import { isWayLost, wayOf } from '../../decide/static-pod/lost-api-server.ts';
import type { Clock } from '../../host/clock.ts';
import { isBoundHere } from '../../host/own-addresses.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Manifest } from '../../static-pods/manifest/manifest.ts';
import type { ClusterDependencies } from '../cluster/dependencies.ts';
import type { OwnNode } from '../cluster/own-node.ts';
import type { StaticPodView } from './view.ts';

/** The addresses of a Node hardly ever change, once they are known. */
const NODE_AGE_MS = 10 * 60_000;
const UNKNOWN_AGE_MS = 15_000;

interface LostApiServerParts extends Pick<ClusterDependencies, 'isOwn'> {
  /** Undefined where no credentials say it yet. */
  readonly server: () => URL | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Log, 'warn'>;
  readonly ownNode: Pick<OwnNode, 'observe'>;
  /** When the API server answered last. */
  readonly heardAt: () => number | undefined;
}

/** Gives back what carries the way to the API server, until that answers: then its drains decide again what is parked. */
export class LostApiServer {
  readonly #parts: LostApiServerParts;
  readonly #startedAt: number;
  /** Whether the server's address is this machine's, as was known last. */
  #isOwn: boolean | undefined;
  /** What is given back, and when the API server had answered last; undefined while it is heard, or waited for. */
  #given: { readonly files: ReadonlySet<string>; readonly heardAt: number | undefined } | undefined;

  constructor(parts: LostApiServerParts) {
    this.#parts = parts;
    this.#startedAt = parts.clock.now();
  }

  /** The static pods that carry the way, in place or parked; none where the API server's address is not this machine's. */
  async carriers({ inPlace, parked }: StaticPodView, signal: AbortSignal): Promise<readonly Manifest[]> {
    const { ownNode } = this.#parts;
    const server = this.#parts.server();
    if (server === undefined) return [];
    const pods = carriersOf<Manifest>([...inPlace, ...parked], server);
    if (pods.length === 0 || isAddressOfNode(server, undefined)) return pods;
    const own = await ownNode.observe(this.#isOwn === undefined ? UNKNOWN_AGE_MS : NODE_AGE_MS, signal);
    if (own.kind === 'present') this.#isOwn = isAddressOfNode(server, own.node);
    return this.#isOwn === true ? pods : [];
  }

  /** The files that are given back now; undefined where none is. A machine that goes down gives nothing back. */
  async look(phase: Phase, { parked }: StaticPodView, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    const { clock, log, heardAt, isOwn = isBoundHere } = this.#parts;
    const server = this.#parts.server();
    if (server === undefined || phase.kind === 'draining' || phase.kind === 'released') return undefined;
    if (this.#given !== undefined) {
      if (heardAt() === this.#given.heardAt) return this.#given.files;
      this.#given = undefined;
    }
    const heard = { now: clock.now(), startedAt: this.#startedAt, heardAt: heardAt() };
    if (!isWayLost(parked, heard) || !(await isOwn(server, signal))) return undefined;
    const files = wayOf(parked).map(({ file }) => file);
    const what = 'the API server is silent since its way was parked on this very node: putting it back, to ask';
    log.warn({ server: server.origin, manifests: files }, what);
    this.#given = { files: new Set(files), heardAt: heard.heardAt };
    return this.#given.files;
  }
}
