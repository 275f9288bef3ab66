/**
 * All machines of a cluster but one, or all of four, are switched off at once, as at a power failure. Applications with a
 * PodDisruptionBudget, one of them with volumes, and the controller itself are on them. All of them go down in order.
 * The gate has three machines of which none stays, in reboot-all.test.ts.
 */
import { after, before, describe, it } from 'node:test';
import { type Machines, startMachines } from './machines/machines.ts';
import { playPowerOff, type PowerOffCase } from './machines/power-off.ts';

const THREE = ['node-a', 'node-b', 'node-c'];
const FOURTH = 'node-d';
const FOUR = [...THREE, FOURTH];

/** The machines go down in each, and the next one begins when they are back. */
const CASES: readonly PowerOffCase[] = [
  { name: 'one machine stays, and no budget is broken', machines: FOUR, goDown: THREE, isAsked: true },
  {
    name: 'one machine stays, takes no pods of others, and no budget is asked',
    machines: FOUR,
    goDown: THREE,
    tainted: FOURTH,
    isAsked: false,
  },
  { name: 'no machine stays, and no budget is asked', machines: FOUR, goDown: FOUR, isAsked: false },
];

describe('machines of a cluster are switched off at once', () => {
  const signal = AbortSignal.timeout(2_300_000);
  const stack = new AsyncDisposableStack();
  let machines: Machines;

  before(async () => {
    const started = performance.now();
    machines = stack.use(await startMachines({ names: FOUR, firstNumber: 21 }, signal));
    await machines.load();
    console.log(`all pods run after ${Math.round((performance.now() - started) / 1000)} s`);
  });
  after(() => stack.disposeAsync());

  for (const each of CASES)
    it(`the machines go down in order; ${each.name}`, async () => {
      await playPowerOff(machines, each, signal);
    });
});
