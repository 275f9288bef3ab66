/** The attacks on the objects of `lifecycle.k8s.io`, each with a control. */
import { after, before, describe, it } from 'node:test';
import { LIFECYCLE_ATTACKERS, LIFECYCLE_ATTACKS } from '../../support/attacks/lifecycle/attacks.ts';
import { buildLifecycleScene, type LifecycleScene } from '../../support/attacks/lifecycle/scene.ts';
import type { LifecycleRig } from '../../support/rigs/lifecycle.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Scene } from './scene.ts';

export function addAttackCases(rigOf: () => LifecycleRig, { newNamespace }: Scene): void {
  let scene: LifecycleScene;

  before(async () => {
    scene = await buildLifecycleScene(rigOf(), await newNamespace());
    // The API server learns of new policies and rights within seconds; a failure here shows in the attack itself.
    for (const { control, attacks } of LIFECYCLE_ATTACKS) {
      const works = async (): Promise<boolean> => {
        await control.attempt(scene);
        await attacks[0]?.attempt(scene);
        return true;
      };
      const ask = (): Promise<boolean> => works().catch(() => false);
      await waitFor(control.name, ask, { timeoutMs: 10_000 }).catch(() => undefined);
    }
  });

  after(() => {
    for (const [actor, client] of Object.entries(scene.clients)) if (actor !== 'admin') client.close();
  });

  for (const { attacker, title, control, attacks } of LIFECYCLE_ATTACKS) {
    describe(`${LIFECYCLE_ATTACKERS[attacker]}: ${title}`, () => {
      it(`control: ${control.name}`, async () => {
        await control.attempt(scene);
      });
      for (const attack of attacks) {
        it(`${attack.name} (${attack.refusedBy})`, async () => {
          await attack.attempt(scene);
        });
      }
    });
  }
}
