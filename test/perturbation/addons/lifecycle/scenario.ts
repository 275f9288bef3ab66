import { runLifecycle } from '../../../../src/addons/lifecycle/lifecycle.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import type { Running } from '../../actor.ts';
import type { PerturbationCluster } from '../../cluster.ts';
import type { Scenario } from '../../scenarios.ts';
import { finish, untilDrained } from '../../steps.ts';

/** Runs the add-on with the controllers of `lifecycle.k8s.io`. */
async function runLifecycleOf(
  { connect }: PerturbationCluster,
  { client, log, asked, killed }: Running,
): Promise<void> {
  const dependencies = { client: client(connect('lifecycle')), clock: createSystemClock(), log };
  await runLifecycle(dependencies, {}, AbortSignal.any([asked, killed]));
}

/** A drain in the newer dialect. */
export const SCENARIO: Scenario = {
  about: 'a drain that asks by `lifecycle.k8s.io`, with the add-on in place of the controllers that Kubernetes lacks',
  play: async (stage) => {
    await stage.layOut(['plain', 'critical'], { budget: 'open' });
    stage.program('lifecycle', runLifecycleOf).start();
    stage.controller('controller', { lifecycleApi: 'on' }).start();
    await stage.drain('m1');
    await untilDrained(stage, 'm1');
    await finish(stage, 'm1');
  },
};
