/** Plays a plan of the perturbation test in virtual time. */
import { createRandom } from '../../chaos/random.ts';
import { type Outcome, runPlan, type Task } from '../../perturbation/run.ts';
import { inVirtualTime } from '../time.ts';
import { createSimulatedCluster } from './cluster.ts';

/** Nothing may be written for so long when everything is over. */
const STILL_MS = 5 * 60_000;
const STEP_MS = 1_000;

/** Plays a scenario once; the seed draws how long requests, answers and events are under way. */
export async function playPlan(task: Task, seed: number): Promise<Outcome> {
  const random = createRandom(seed);
  return await inVirtualTime(random, async (time) => {
    const over = new AbortController();
    const playing = runPlan(createSimulatedCluster(time, random), task, STILL_MS).finally(() => {
      over.abort();
    });
    // A failure is for the caller, who waits for it later.
    playing.catch(() => undefined);
    while (!over.signal.aborted) await time.pass(STEP_MS);
    return await playing;
  });
}
