/** The attacks on the objects of `lifecycle.k8s.io`, each with a control. */
import { after, before } from 'node:test';
import { addFamilies, untilInForce } from '../../support/attacks/families.ts';
import {
  LIFECYCLE_ATTACKERS,
  LIFECYCLE_ATTACKS,
  type LifecycleFamily,
} from '../../support/attacks/lifecycle/attacks.ts';
import { buildLifecycleScene, type LifecycleScene } from '../../support/attacks/lifecycle/scene.ts';
import type { LifecycleRig } from '../../support/rigs/lifecycle.ts';
import type { Scene } from './scene.ts';

export function addAttackCases(rigOf: () => LifecycleRig, { newNamespace }: Scene): void {
  let scene: LifecycleScene;

  before(async () => {
    scene = await buildLifecycleScene(rigOf(), await newNamespace());
  });

  after(() => {
    for (const [actor, client] of Object.entries(scene.clients)) if (actor !== 'admin') client.close();
  });

  const inForce = (family: LifecycleFamily): Promise<void> => untilInForce(family, scene);
  addFamilies(LIFECYCLE_ATTACKS, LIFECYCLE_ATTACKERS, () => scene, inForce);
}
