/** Upstream's cases by their names, for each of the two controllers alone, on one API server of Kubernetes 1.37. */
import { after, before, describe } from 'node:test';
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
import { createScene } from '../../lifecycle/scene.ts';
import { addWritesCase, useLifecycleRig } from '../../lifecycle/suite.ts';
import { addControllerCases } from './controller-cases.ts';
import { addEvictorCases } from './evictor-cases.ts';

describe('the controllers of lifecycle.k8s.io', () => {
  const rigOf = useLifecycleRig();
  const scene = createScene(rigOf);

  /** Runs one of the controllers for the cases of a block. */
  const withPart = (part: ControllerPart): void => {
    const stopping = new AbortController();
    let running: Promise<void>;
    before(async () => {
      const client = createKubeClient(await loadClusterAccess(rigOf().lifecycleKubeconfig), 'lifecycle');
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

  addWritesCase(rigOf, 'the controllers', 50);
});
