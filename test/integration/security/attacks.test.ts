import { after, before } from 'node:test';
import { runController } from '../../../src/controller/leader/controller.ts';
import { controllerOptionsSchema } from '../../../src/controller/options.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { collectionPath, NODE_MAINTENANCES, sendForObject } from '../../../src/kube/resource.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { CONSEQUENCES, WITHOUT_CONTROLLER } from '../../support/attacks/consequences.ts';
import { addFamilies, untilInForce } from '../../support/attacks/families.ts';
import { buildScene, type Scene } from '../../support/attacks/scene.ts';
import { ATTACKERS, ATTACKS } from '../../support/attacks/suite.ts';
import { byName, maintenanceOf } from '../../support/maintenance/objects.ts';

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
});

const sceneOf = (): Scene => scene;
addFamilies(ATTACKS, ATTACKERS, sceneOf, (family) => untilInForce(family, scene));
addFamilies(WITHOUT_CONTROLLER, ATTACKERS, sceneOf, () => Promise.resolve());

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
addFamilies(CONSEQUENCES, ATTACKERS, sceneOf, startController);
