/** What the product does for `lifecycle.k8s.io` beside upstream's cases, and its policies, on one API server of Kubernetes 1.37. */
import { after, before, describe } from 'node:test';
import { addAttackCases } from './attack-cases.ts';
import { addProductCases } from './product-cases.ts';
import { createScene } from './scene.ts';
import { addWritesCase, useLifecycleRig } from './suite.ts';
import { addValidationCases } from './validation-cases.ts';

describe('evictions of lifecycle.k8s.io', () => {
  const rigOf = useLifecycleRig();
  const scene = createScene(rigOf);

  describe('the controller and the add-on', { concurrency: 4 }, () => {
    let stops: readonly (() => Promise<void>)[];
    before(async () => {
      stops = [await rigOf().startController(), await rigOf().startLifecycle()];
    });
    after(async () => {
      for (const stop of stops) await stop();
    });
    addProductCases(rigOf, scene);
  });

  describe('who may write a status', () => {
    addAttackCases(rigOf, scene);
  });

  describe("upstream's cases of validation", { concurrency: 4 }, async () => {
    await addValidationCases(rigOf, scene);
  });

  addWritesCase(rigOf, 'both', 20);
});
