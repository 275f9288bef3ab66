/**
 * All machines of a cluster are asked to reboot at once, as by unattended upgrades at night: they go one after another as
 * the budgets need it, no budget is ever broken, and all of them come back. Then they are switched off at once.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isThorough } from '../support/thorough.ts';
import { waitFor } from '../support/wait-for.ts';
import { killControllers, type Machines, startMachines } from './machines/machines.ts';
import { playPowerOff } from './machines/power-off.ts';
import { cordonedWhileWaiting, turnWaitsOf } from './machines/waiting.ts';
import { assertInOrder, assertNothingForced, beginStory, tooFew } from './machines/story.ts';

const THREE = ['node-a', 'node-b', 'node-c'] as const;
/** Two by logind, which announces the shutdown and waits for locks; of the third, systemd stops the units without logind. */
const REBOOT: Readonly<Record<(typeof THREE)[number], string>> = {
  'node-a': 'systemctl reboot',
  'node-b': 'systemctl reboot',
  'node-c': 'systemctl start --no-block reboot.target',
};
/** The last one waits until both others are back. */
const DOWN_MS = 600_000;

interface RebootCase {
  readonly name: string;
  /** What happens when the first machine is down. */
  readonly inTheMiddle?: (machines: Machines) => Promise<void>;
}

const CASES: readonly RebootCase[] = [
  { name: 'all of them come back' },
  { name: 'the controller is killed in the middle', inTheMiddle: killControllers },
];

describe('all machines of a cluster are asked to reboot, or are switched off, at once', () => {
  const signal = AbortSignal.timeout(2_300_000);
  const stack = new AsyncDisposableStack();
  let machines: Machines;

  before(async () => {
    machines = stack.use(await startMachines({ names: THREE, firstNumber: 31 }, signal));
    await machines.load();
  });
  after(() => stack.disposeAsync());

  const isDown = (name: string): boolean => machines.machine(name).system().hasEnded();

  const isWanted = isThorough('the controller is killed in the middle');
  for (const { name, inTheMiddle } of isWanted ? CASES : CASES.slice(0, 1))
    it(`the machines reboot in order and no budget is broken: ${name}`, async () => {
      for (const each of THREE) if (isDown(each)) await machines.machine(each).boot();
      await machines.untilSettled(THREE);
      for (const each of THREE) await machines.clearWitness(each);
      const story = beginStory(name, machines);
      let first: string | undefined;
      const reboot = async (each: (typeof THREE)[number]): Promise<readonly string[]> => {
        await machines.machine(each).system().must(REBOOT[each]);
        story.mark(`${each}: ${REBOOT[each]}`);
        await waitFor(`${each} is down`, () => isDown(each), { timeoutMs: DOWN_MS, signal });
        story.mark(`${each} is down`);
        const witnessed = await machines.witnessed(each);
        const isFirst = first === undefined;
        first ??= each;
        if (isFirst && inTheMiddle !== undefined) {
          await inTheMiddle(machines);
          story.mark('the controller was killed');
        }
        await machines.machine(each).boot();
        story.mark(`${each} is back`);
        return witnessed;
      };
      const ends = await Promise.allSettled(THREE.map(reboot));
      const problems = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
      const said = problems.length > 0 ? await machines.describe() : '';
      if (problems.length === 0) {
        await machines.untilSettled(THREE);
        story.mark('all pods are back');
      }
      const told = await story.end();
      assert.deepEqual(problems, [], said);
      for (const [index, end] of ends.entries())
        if (end.status === 'fulfilled') assertInOrder(THREE[index] ?? '', end.value);
      assertNothingForced(told);
      const waits = turnWaitsOf(told.changes, THREE);
      console.log(waits.map(({ node, said }) => `${node}: ${said}`).join('\n'));
      assert.deepEqual(cordonedWhileWaiting(waits, told.changes), []);
      assert.deepEqual(tooFew(told), []);
    });

  it('all machines are switched off at once: they go down in order, and no budget is asked', async () => {
    const name = 'no machine stays, and no budget is asked';
    await playPowerOff(machines, { name, machines: THREE, goDown: THREE, isAsked: false }, signal);
  });
});
