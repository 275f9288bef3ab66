/** Upstream's cases by their names, for each of the two controllers alone, on one API server of Kubernetes 1.37. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type ControllerPart,
  defaultEvictor,
  evictionController,
  runLifecycle,
} from '../../../../src/addons/lifecycle/lifecycle.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { loadClusterAccess } from '../../../../src/kube/access/cluster.ts';
import { createKubeClient } from '../../../../src/kube/client.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import { buildLifecycleRig, type LifecycleRig } from '../../../support/rigs/lifecycle.ts';
import { createScene } from '../../lifecycle/scene.ts';
import { addControllerCases } from './controller-cases.ts';
import { addEvictorCases } from './evictor-cases.ts';

describe('the controllers of lifecycle.k8s.io', () => {
  let rig: LifecycleRig;
  const rigOf = (): LifecycleRig => rig;
  const scene = createScene(rigOf);

  before(async () => {
    rig = await buildLifecycleRig();
  });

  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  /** Runs one of the controllers for the cases of a block. */
  const withPart = (part: ControllerPart): void => {
    const stopping = new AbortController();
    let running: Promise<void>;
    before(async () => {
      const client = createKubeClient(await loadClusterAccess(rig.lifecycleKubeconfig), 'lifecycle');
      const dependencies = { client, clock: createSystemClock(), log: createLog('error', 'lifecycle') };
      running = runLifecycle(dependencies, { parts: [part] }, stopping.signal).finally(() => {
        client.close();
      });
    });
    after(async () => {
      stopping.abort();
      await running;
    });
  };

  describe("upstream's cases of the controller", { concurrency: 4 }, () => {
    withPart(evictionController);
    addControllerCases(rigOf, scene);
  });

  describe("upstream's cases of the default evictor", { concurrency: 6 }, () => {
    withPart(defaultEvictor);
    addEvictorCases(rigOf, scene.newNamespace);
  });

  describe('the writes of the controllers', () => {
    it('the API server refuses none of them', async () => {
      const { count, refused } = await rig.writes();
      assert.deepEqual(refused, []);
      assert.ok(count > 50, `only ${count} writes were seen`);
    });
  });
});
