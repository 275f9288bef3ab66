/** Plays one history of a fleet in virtual time. */
import { describeStep, type Step } from '../../chaos/history.ts';
import { signatureOf } from '../../chaos/invariants/violation.ts';
import { CHECKOUT } from '../../chaos/product.ts';
import { createRandom, type Random } from '../../chaos/random.ts';
import { loadController, type RunController } from '../replicas.ts';
import { inVirtualTime } from '../time.ts';
import { Fleet } from './fleet.ts';
import { type FleetFinding, Judge } from './judge.ts';
import { drawSettings } from './settings.ts';
import { completeAll, FLEET_STEPS } from './steps.ts';

/** A node that has just joined counts for little. */
const SETTLE_MS = 400_000;
const PAUSE_MS = 80;
/** Steps of a history, and up to twice as many. */
const LENGTH = 5;
/** After the last step a machine that nobody holds has gone by now: each wait without an owner ends before. */
const END_MS = 130 * 60_000;
/** Whoever is held for so long with an owner is held rightly. */
const OWNED_MS = 15 * 60_000;

/** What came of a history of a fleet. */
export interface FleetOutcome {
  readonly steps: readonly Step[];
  readonly violations: readonly FleetFinding[];
  readonly trace: readonly string[];
  readonly writes: number;
}

export function drawSteps(random: Random, nodes: number): readonly Step[] {
  const entries = Object.entries(FLEET_STEPS);
  const all = entries.reduce((sum, [, { weight }]) => sum + weight, 0);
  const draw = (): Step => {
    let left = random.whole(all);
    for (const [name, kind] of entries) {
      left -= kind.weight;
      if (left < 0) return { do: name, with: kind.draw(random, nodes) };
    }
    throw new Error('no kind of step has a weight');
  };
  const steps = Array.from({ length: LENGTH + random.whole(LENGTH) }, draw);
  const isShutdown = ({ do: name }: Step): boolean => name.startsWith('shut down');
  const kind = FLEET_STEPS['shut down'];
  if (steps.some(isShutdown) || kind === undefined) return steps;
  const at = random.whole(steps.length);
  const shutdown = { do: 'shut down', with: kind.draw(random, nodes) };
  return [...steps.slice(0, at), shutdown, ...steps.slice(at)];
}

/** Waits until no machine is held any more, or those that are have been so for long enough to be judged. */
async function untilEnd(fleet: Fleet, judge: Judge): Promise<void> {
  const begun = fleet.now();
  while (fleet.now() - begun < END_MS) {
    const held = fleet.machines.filter((machine) => machine.isHeld());
    if (held.length === 0) return;
    if (fleet.now() - begun >= OWNED_MS && held.every((machine) => judge.ownerOf(machine) !== undefined)) return;
    await fleet.time.pass(60_000);
  }
}

/** Plays the fleet of a seed; some of its steps where `steps` are given. */
export async function playFleet(
  seed: number,
  choice: { readonly controller?: RunController; readonly steps?: readonly Step[] } = {},
): Promise<FleetOutcome> {
  const runController = choice.controller ?? (await loadController(CHECKOUT));
  const random = createRandom(seed);
  const settings = drawSettings(random, seed);
  const steps = choice.steps ?? drawSteps(random, settings.nodes);
  return await inVirtualTime(random, async (time) => {
    const fleet = new Fleet({ time, random, settings, runController });
    fleet.note(`fleet ${JSON.stringify(settings)}`);
    const judge = new Judge(fleet);
    fleet.begin();
    await time.pass(SETTLE_MS);
    for (const step of steps) {
      fleet.note(`step ${describeStep(step)}`);
      await FLEET_STEPS[step.do]?.perform(fleet, step.with);
      await time.pass(PAUSE_MS);
    }
    await untilEnd(fleet, judge);
    judge.judgeHeld();
    completeAll(fleet);
    // Within a quarter of an hour machines have everything back.
    for (let looks = 0; looks < 45 && judge.lacking().length > 0; looks += 1) await time.pass(20_000);
    judge.judgeReturned();
    for (const error of fleet.failures) judge.failed(error);
    await fleet.end();
    const violations = [...new Map(judge.found.map((each) => [signatureOf(each), each])).values()];
    return { steps, violations, trace: fleet.record.trace, writes: fleet.record.writes.length };
  });
}
