/** Plans of the perturbation test in virtual time. `npm run perturb:simulated` plays many of them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { drawPairs, planText, plansOf, readPlan } from '../../perturbation/plan.ts';
import type { Outcome } from '../../perturbation/run.ts';
import { loadScenarios, type Scenario } from '../../perturbation/scenarios.ts';
import { createRandom } from '../../chaos/random.ts';
import { playPlan } from '../../simulation/perturbed/play.ts';

const SCENARIOS = await loadScenarios();
const RECORDINGS = new Map<string, Outcome>();

/** What is compared of two plays. */
function recordOf({ moments, finds, log, reached, seconds }: Outcome): string {
  return JSON.stringify({ moments, finds, log, reached, seconds });
}

describe('plans in virtual time', () => {
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    it(`the scenario ${name} comes to a good end where nothing goes wrong`, async () => {
      const outcome = await playPlan({ name, scenario }, 1);
      RECORDINGS.set(name, outcome);
      assert.deepEqual(outcome.finds, []);
      assert.ok(outcome.moments.length > 20, `${outcome.moments.length} moments`);
    });
  }

  it('the same plan and seed give the same play, to the byte', async () => {
    const [name, scenario] = ['agent-hand-over', SCENARIOS['agent-hand-over']] as const;
    assert.ok(scenario);
    const moments = RECORDINGS.get(name)?.moments ?? [];
    const [plan] = drawPairs(name, moments, 1, createRandom(3));
    assert.ok(plan);
    const again = readPlan(planText(plan));
    const [first, second] = [
      await playPlan({ name, scenario, plan }, 1),
      await playPlan({ name, scenario, plan: again }, 1),
    ];
    assert.ok(recordOf(first) === recordOf(second), 'two plays of one seed differ');
    assert.ok(recordOf(first) !== recordOf(await playPlan({ name, scenario, plan }, 2)), 'another seed, other delays');
  });

  it('what goes wrong on purpose comes to pass', async () => {
    const [name, scenario] = ['drain', SCENARIOS['drain']] as const;
    assert.ok(scenario);
    const plans = plansOf(name, RECORDINGS.get(name)?.moments ?? []);
    for (const fate of ['crash before', 'answer lost', 'list from the past']) {
      const plan = plans.find(({ perturbations: [each] }) => each?.fate === fate);
      assert.ok(plan, fate);
      assert.ok((await playPlan({ name, scenario, plan }, 1)).reached, planText(plan));
    }
  });

  for (const who of ['agent', 'controller'] as const) {
    it(`while a pod does not end, the ${who} that drains repeats no write more often than every few minutes`, async () => {
      const counts = new Map<string, number>();
      const scenario: Scenario = {
        about: 'a drain that waits for a pod which does not end',
        hasMachine: true,
        play: async (stage) => {
          await stage.layOut(['plain'], { budget: 'open' });
          stage.part.stuck.add(`${stage.part.namespaces[0]}/plain`);
          const actor = who === 'agent' ? stage.agent() : stage.controller(who);
          actor.start();
          await (who === 'agent' ? stage.machine?.announceShutdown() : stage.drain('m1'));
          const isEnding = (): boolean =>
            stage.part
              .pods()
              .some(({ metadata }) => metadata.name === 'plain' && metadata.deletionTimestamp !== undefined);
          await stage.until('the pod is told to end', isEnding);
          await sleep(5 * 60_000);
          const before = actor.trace.moments.length;
          await sleep(30 * 60_000);
          const writes = actor.trace.moments.slice(before).filter(({ kind }) => kind === 'write');
          for (const { what } of writes) counts.set(what, (counts.get(what) ?? 0) + 1);
        },
      };
      await playPlan({ name: 'none', scenario }, 1);
      const most = [...counts].toSorted(([, a], [, b]) => b - a)[0] ?? ['', 0];
      assert.ok(most[1] <= 12, most.join(' '));
    });
  }

  it('a scenario that does not come to its end is a find, and so is what is left', async () => {
    const scenario: Scenario = {
      about: 'a drain that nobody completes',
      play: async (stage) => {
        await stage.layOut(['plain'], { budget: 'closed' });
        stage.controller('controller').start();
        await stage.drain('m1');
        await stage.until('m1 is Drained', () => stage.isDrained('m1'));
      },
    };
    const { finds } = await playPlan({ name: 'none', scenario }, 1);
    const what = finds.map((find) => find.what).join('\n');
    assert.match(what, /^end: m1 is Drained: not within 300 s$/mu);
    assert.match(what, /^given-back: /mu);
  });
});
