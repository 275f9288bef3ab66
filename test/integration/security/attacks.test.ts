import { after, before, describe, it } from 'node:test';
import { runController } from '../../../src/controller/controller.ts';
import { controllerOptionsSchema } from '../../../src/controller/options.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { collectionPath, NODE_MAINTENANCES, sendForObject } from '../../../src/kube/resource.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import type { Family } from '../../support/attacks/attack.ts';
import { CONSEQUENCES, WITHOUT_CONTROLLER } from '../../support/attacks/consequences.ts';
import { buildScene, type Scene } from '../../support/attacks/scene.ts';
import { ATTACKERS, ATTACKS } from '../../support/attacks/suite.ts';
import { attackTable } from '../../support/attacks/table.ts';
import { byName, maintenanceOf } from '../../support/maintenance/objects.ts';
import { waitFor } from '../../support/wait-for.ts';

let scene: Scene;
const stop = new AbortController();
let controller: Promise<void> | undefined;
before(async () => {
  scene = await buildScene();
});
after(async () => {
  stop.abort();
  await controller;
  await scene[Symbol.asyncDispose]();
  console.log(attackTable());
});

/** Rights are aggregated, and policies come into force, some time after they are installed. */
async function untilInForce({ control, attacks }: Family): Promise<void> {
  const works = async (): Promise<boolean> => {
    await control.attempt(scene);
    await attacks[0]?.attempt(scene);
    return true;
  };
  const ask = (): Promise<boolean> => works().catch(() => false);
  // A failure here shows in the control and in the attack themselves.
  await waitFor(control.name, ask, { timeoutMs: 10_000 }).catch(() => undefined);
}

function family({ attacker, title, control, attacks }: Family, prepare: () => Promise<void>): void {
  describe(`${ATTACKERS[attacker]}: ${title}`, () => {
    before(prepare);
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

for (const each of ATTACKS) family(each, () => untilInForce(each));
for (const each of WITHOUT_CONTROLLER) family(each, () => Promise.resolve());

async function startController(): Promise<void> {
  if (controller !== undefined) return;
  const options = controllerOptionsSchema.parse({});
  const dependencies = {
    client: scene.clients.controller,
    clock: createSystemClock(),
    log: createLog('error', 'test'),
  };
  controller = runController({ ...dependencies, options }, stop.signal);
  // The wishes of a maintenance that is not there would be withdrawn.
  const body = maintenanceOf({ stage: 'Drain', nodeSelector: byName('n2') }, { name: 'drain' });
  const path = collectionPath(NODE_MAINTENANCES);
  await sendForObject(scene.clients.admin, { method: 'POST', path, body }, [], stop.signal);
}
for (const each of CONSEQUENCES) family(each, startController);
