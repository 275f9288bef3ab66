import type { Phase } from '../../decide/shutdown/phase.ts';
import { FIRST_SILENCE_MS, isWayLost, nextSilenceMs, wayOf } from '../../decide/static-pod/lost-way.ts';
import type { Clock } from '../../host/clock.ts';
import { isOwnServer } from '../../host/own-addresses.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StaticPodView } from './view.ts';

interface LostWayParts {
  /** Undefined where no credentials say it. */
  readonly server: URL | undefined;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Log, 'warn'>;
  /** When the API server answered last. */
  readonly heardAt: () => number | undefined;
  /** Whether the server's address is this machine's; only tests set it. */
  readonly isOwn?: (server: URL, signal: AbortSignal) => Promise<boolean>;
}

/** Gives back what carries the way to the API server, until that answers: then its drains decide again what is parked. */
export class LostWay {
  readonly #parts: LostWayParts;
  readonly #startedAt: number;
  #silenceMs = FIRST_SILENCE_MS;
  /** What is given back, and since when; undefined while the API server is heard, or waited for. */
  #given: { readonly files: ReadonlySet<string>; readonly at: number } | undefined;

  constructor(parts: LostWayParts) {
    this.#parts = parts;
    this.#startedAt = parts.clock.now();
  }

  /** The files that are given back now; undefined where none is. A machine that goes down gives nothing back. */
  async look(phase: Phase, { parked }: StaticPodView, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    const { server, clock, log, heardAt, isOwn = isOwnServer } = this.#parts;
    if (server === undefined || phase.kind === 'draining' || phase.kind === 'released') return undefined;
    if (this.#given !== undefined) {
      if ((heardAt() ?? 0) <= this.#given.at) return this.#given.files;
      this.#given = undefined;
      this.#silenceMs = nextSilenceMs(this.#silenceMs);
    }
    const heard = { now: clock.now(), startedAt: this.#startedAt, heardAt: heardAt(), silenceMs: this.#silenceMs };
    if (!isWayLost(parked, heard) || !(await isOwn(server, signal))) return undefined;
    const files = wayOf(parked).map(({ file }) => file);
    const what = 'the API server is silent since its way was parked on this very node: putting it back, to ask';
    log.warn({ server: server.origin, manifests: files }, what);
    this.#given = { files: new Set(files), at: heard.now };
    return this.#given.files;
  }
}
