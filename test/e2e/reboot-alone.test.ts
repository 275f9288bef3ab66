/**
 * The only machine of a cluster, with the manifests exactly as they are shipped: it reboots, although both replicas of the
 * controller and all pods of two budgets are on it. The control plane is outside of it.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitFor } from '../support/wait-for.ts';
import { type Machines, startMachines } from './machines/machines.ts';
import { assertInOrder, assertNothingForced, beginStory } from './machines/story.ts';

const NODE = 'node-a';
const DOWN_MS = 240_000;
const REBOOTS = 10;

describe('the only machine of a cluster', () => {
  const signal = AbortSignal.timeout(1_400_000);
  const stack = new AsyncDisposableStack();
  let machines: Machines;

  before(async () => {
    machines = stack.use(await startMachines({ names: [NODE], firstNumber: 41, attacher: 'outside' }, signal));
    await machines.load();
  });
  after(() => stack.disposeAsync());

  for (let count = 1; count <= REBOOTS; count += 1)
    it(`the machine reboots in order and comes back, time ${count}`, async () => {
      const machine = machines.machine(NODE);
      await machines.clearWitness(NODE);
      const story = beginStory(`reboot ${count} of the only machine`, machines);
      await machine.system().must('systemctl reboot');
      const isDown = (): boolean => machine.system().hasEnded();
      await waitFor('the machine is down', isDown, { timeoutMs: DOWN_MS, signal }).catch(async (error: unknown) => {
        await story.end();
        throw new Error(await machines.describe(), { cause: error });
      });
      story.mark('the machine is down');
      const witnessed = await machines.witnessed(NODE);
      await machine.boot();
      story.mark('the machine is back');
      await machines.untilSettled([NODE]);
      story.mark('all pods are back');
      const told = await story.end();
      assertInOrder(NODE, witnessed);
      assertNothingForced(told);
      assert.equal(witnessed.filter((line) => line === 'db END').length, 2);
    });
});
