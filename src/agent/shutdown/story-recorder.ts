import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Phase } from '../../decide/shutdown/phase.ts';
import {
  begunStory,
  isStoryOf,
  type ShutdownStory,
  type StoryObservation,
  withObservation,
  withReturned,
  withTransition,
} from '../../decide/story/story.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { createWarnOnce, type LogOnce } from '../../telemetry/log-once.ts';
import type { Iteration } from '../iteration/step.ts';
import type { StoryFiles } from './story-files.ts';

/** What is seen at the end of an iteration, with the files of the manifests that are parked. */
export interface IterationObservation extends Omit<StoryObservation, 'at'> {
  readonly parked: readonly string[];
}

interface StoryRecorderDependencies {
  readonly nodeName: string;
  readonly files: Pick<StoryFiles, 'read' | 'write'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Pick<Log, 'warn'>;
}

/** The time between two writes in which no transition happened; each costs the disk some syncs. */
const WRITE_EVERY_MS = 5_000;
/** How long the end of the agent waits for the last write. */
const LAST_WRITE_MS = 2_000;

/** The present as the story counts it: the clock may be set while a shutdown is held, which moves nothing in it. */
function storyNow(phase: Phase, clock: StoryRecorderDependencies['clock']): number {
  const { since, sinceBootMs } = phase.kind === 'watching' ? { since: 0, sinceBootMs: undefined } : phase;
  const isHeld = phase.kind === 'draining' || phase.kind === 'released';
  return isHeld && sinceBootMs !== undefined ? since + clock.monotonic() - sinceBootMs : clock.now();
}

/** Keeps the story of each shutdown. It never makes the loop wait for a disk, and what it cannot write it does without. */
export class StoryRecorder {
  readonly #dependencies: StoryRecorderDependencies;
  #story: ShutdownStory | undefined;
  #parked: readonly string[] = [];
  /** What was given to the disk last, and when. */
  #queued: ShutdownStory | undefined;
  #queuedAt = -Infinity;
  /** The last write, after those before it. */
  #writing = Promise.resolve();
  readonly #warnOnce: LogOnce;

  constructor(dependencies: StoryRecorderDependencies, story: ShutdownStory | undefined) {
    this.#dependencies = dependencies;
    this.#story = story;
    this.#queued = story;
    this.#warnOnce = createWarnOnce(dependencies.log, 'the story of the shutdown cannot be written');
  }

  /** Adds what this iteration has decided, at its beginning: the steps that follow take their time. Never throws. */
  recordTransition({ phase, transition }: Iteration): void {
    if (transition !== undefined && transition.name !== 'begin' && this.#story !== undefined) {
      this.#story = withTransition(this.#story, transition, this.#timeOf(transition.to));
    }
    if (phase.kind === 'draining' && (this.#story === undefined || !isStoryOf(this.#story, phase))) {
      this.#story = begunStory(this.#dependencies.nodeName, phase);
    }
    this.#save(transition !== undefined);
  }

  /** Adds what this iteration has seen, at its end. Never throws. */
  recordProgress({ phase, transition }: Iteration, observation: IterationObservation): void {
    const { clock } = this.#dependencies;
    if (phase.kind === 'draining' && this.#story !== undefined) {
      this.#story = withObservation(this.#story, { ...observation, at: storyNow(phase, clock) });
    }
    if (this.#story !== undefined && (phase.kind === 'recovering' || transition?.name === 'settle')) {
      const returned = this.#parked.filter((file) => !observation.parked.includes(file));
      this.#story = withReturned(this.#story, returned, clock.now());
    }
    this.#parked = observation.parked;
    this.#save(transition !== undefined);
    // What is over is written, and no later shutdown adds to it.
    if (phase.kind === 'watching') this.#story = undefined;
  }

  /** Writes what is not written yet when `living` is aborted. */
  async run(living: AbortSignal): Promise<void> {
    if (!living.aborted) await once(living, 'abort');
    this.#save(true);
    const limit = new AbortController();
    await Promise.race([
      this.#writing,
      delay(LAST_WRITE_MS, undefined, { signal: limit.signal }).catch(() => undefined),
    ]);
    limit.abort();
  }

  /** A released phase has the time of its release, the others happened now. */
  #timeOf(phase: Phase): number {
    return phase.kind === 'released' ? phase.releasedAt : storyNow(phase, this.#dependencies.clock);
  }

  #save(isUrgent: boolean): void {
    const { clock } = this.#dependencies;
    if (this.#story === undefined || this.#story === this.#queued) return;
    if (!isUrgent && clock.monotonic() - this.#queuedAt < WRITE_EVERY_MS) return;
    const story = this.#story;
    this.#queued = story;
    this.#queuedAt = clock.monotonic();
    this.#writing = this.#writing.then(() => this.#write(story));
  }

  async #write(story: ShutdownStory): Promise<void> {
    // A later one of the same shutdown says more.
    if (this.#queued !== story && this.#queued?.begunAt === story.begunAt) return;
    try {
      await this.#dependencies.files.write(story);
      this.#warnOnce(undefined);
    } catch (error) {
      this.#warnOnce(describeError(error));
    }
  }
}

/** Goes on with the story of the shutdown that `phase` is in, where an earlier agent has begun it. Never throws. */
export async function openStoryRecorder(dependencies: StoryRecorderDependencies, phase: Phase): Promise<StoryRecorder> {
  const story = phase.kind === 'watching' ? undefined : await dependencies.files.read(phase.since);
  return new StoryRecorder(dependencies, story);
}
