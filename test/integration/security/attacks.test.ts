/** What a stolen identity of a node, and a thief of the token of nodemaint-controller, try. */
import { after, before, describe, it } from 'node:test';
import type { Family } from '../../support/attacks/attack.ts';
import { CONSEQUENCES } from '../../support/attacks/consequences.ts';
import { CONTROLLER_ATTACKS } from '../../support/attacks/controller/on-maintenances.ts';
import { CONTROLLER_REQUEST_ATTACKS } from '../../support/attacks/controller/on-requests.ts';
import { HELD_POD_ATTACKS } from '../../support/attacks/held-pods.ts';
import { NODE_MAINTENANCE_ATTACKS } from '../../support/attacks/node-maintenances.ts';
import { buildScene, type Scene } from '../../support/attacks/scene.ts';
import { waitFor } from '../../support/wait-for.ts';

const FAMILIES: readonly Family[] = [
  ...NODE_MAINTENANCE_ATTACKS,
  HELD_POD_ATTACKS,
  ...CONTROLLER_ATTACKS,
  ...CONTROLLER_REQUEST_ATTACKS,
  CONSEQUENCES,
];

let scene: Scene;
before(async () => {
  scene = await buildScene();
});
after(async () => {
  await scene[Symbol.asyncDispose]();
});

for (const family of FAMILIES) {
  const { title, control, attacks } = family;
  describe(title, () => {
    // Policies come into force some seconds after they are installed; a failure here shows in the control and the attack, too.
    before(async () => {
      if (family === CONSEQUENCES) return;
      const isInForce = async (): Promise<boolean> => {
        await control.attempt(scene);
        await attacks[0]?.attempt(scene);
        return true;
      };
      await waitFor(control.name, () => isInForce().catch(() => false), { timeoutMs: 10_000 }).catch(() => undefined);
    });
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
