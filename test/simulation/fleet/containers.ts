/** The container runtime of a machine: its pods, who told them to end and when, and a runtime that may be away or silent. */
import { SOURCE_ANNOTATION } from '../../../src/api/names.ts';
import { NodemaintError } from '../../../src/errors.ts';
import type { ContainerRuntime } from '../../../src/host/cri/runtime.ts';
import type { VirtualTime } from '../time.ts';

/** How long a call waits for a runtime that does not answer. */
const SILENT_MS = 10_000;

/** The containers of one pod. Times are in milliseconds since the epoch. */
export interface Container {
  readonly id: string;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly source: 'api' | 'file';
  readonly labels: Readonly<Record<string, string>>;
  readonly graceSec: number;
  /** How long it takes to end when it is told to. */
  readonly endingMs: number;
  readonly createdAt: number;
  /** When it was told to end. */
  toldAt?: number;
  /** When it ends, or is killed, at the latest. */
  killAt: number;
  endedAt?: number;
}

/** What runs on a machine. */
export class Containers {
  readonly all: Container[] = [];
  readonly #time: VirtualTime;
  /** Told of a container that has ended. */
  readonly #onEnd: (container: Container) => void;
  #awayUntil = -Infinity;
  #silentUntil = -Infinity;
  /** When it was away last. */
  awayAt = -Infinity;
  #count = 0;

  constructor(time: VirtualTime, onEnd: (container: Container) => void) {
    this.#time = time;
    this.#onEnd = onEnd;
  }

  running(): readonly Container[] {
    return this.all.filter(({ endedAt }) => endedAt === undefined);
  }

  start(pod: Omit<Container, 'id' | 'createdAt' | 'killAt' | 'toldAt' | 'endedAt'>): void {
    this.#count += 1;
    this.all.push({ ...pod, id: `c${this.#count}-${pod.name}`, createdAt: this.#time.now(), killAt: Infinity });
  }

  /** Sends SIGTERM, and kills it when its grace period is over; a second time may only shorten that. */
  tell(container: Container, graceSec: number): void {
    const now = this.#time.now();
    container.toldAt ??= now;
    const endsAt = Math.min(container.toldAt + container.endingMs, now + graceSec * 1_000);
    if (endsAt >= container.killAt) return;
    container.killAt = endsAt;
    this.#time.after(endsAt - now, () => this.end(container));
  }

  end(container: Container): void {
    if (container.endedAt !== undefined) return;
    container.endedAt = this.#time.now();
    this.#onEnd(container);
  }

  /** Everything ends at once, as when the power goes. */
  clear(): void {
    for (const container of this.running()) this.end(container);
    this.all.length = 0;
  }

  /** The runtime is gone, or it takes calls and answers none. */
  disturb(how: 'away' | 'silent', ms: number): void {
    if (how === 'away') this.#awayUntil = this.#time.now() + ms;
    else this.#silentUntil = this.#time.now() + ms;
  }

  /** Whether it answers. */
  isUp(): boolean {
    const isUp = this.#time.now() >= Math.max(this.#awayUntil, this.#silentUntil);
    if (!isUp) this.awayAt = this.#time.now();
    return isUp;
  }

  async #answered(signal: AbortSignal): Promise<void> {
    if (this.isUp()) return;
    if (this.#time.now() < this.#silentUntil) await this.#time.sleep(SILENT_MS, signal);
    throw new NodemaintError('RUNTIME_UNAVAILABLE', 'the container runtime does not answer');
  }

  /** The runtime as the agent reaches it; `onStop` hears of each pod that the agent tells to end. */
  runtime(onStop: (container: Container) => void): ContainerRuntime {
    const stop = async (id: string, graceSec: number, signal: AbortSignal): Promise<void> => {
      await this.#answered(signal);
      const container = this.running().find((each) => each.id === id);
      if (container === undefined) return;
      if (container.toldAt === undefined) onStop(container);
      this.tell(container, graceSec);
      while (container.endedAt === undefined) {
        await this.#time.sleep(Math.max(1, container.killAt - this.#time.now()), signal);
      }
    };
    return {
      version: async (signal) => {
        await this.#answered(signal);
        return { runtimeName: 'memory', runtimeVersion: '1' };
      },
      livePods: async (signal) => {
        await this.#answered(signal);
        return this.running().map(({ id, namespace, name, uid, createdAt, source, graceSec, labels }) => ({
          id,
          namespace,
          podName: name,
          podUid: uid,
          ready: true,
          createdAt,
          annotations: { [SOURCE_ANNOTATION]: source },
          labels,
          runningContainers: 1,
          graceSec,
        }));
      },
      stopPod: stop,
      stopPodByForce: stop,
      close: () => undefined,
    };
  }
}
