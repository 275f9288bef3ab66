/** What the API server does not refuse a node, and what the product itself sees to. */
import assert from 'node:assert/strict';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import { runCommandLine } from '../../../src/cli/program.ts';
import { createTerminal } from '../../../src/cli/terminal/terminal.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import type { EventSubject } from '../../../src/kube/event/text.ts';
import { createEventRecorder } from '../../../src/kube/events.ts';
import { collectionPath, EVENTS, NODE_MAINTENANCES, objectPath, PODS } from '../../../src/kube/resource.ts';
import { byName, maintenanceOf } from '../maintenance/objects.ts';
import { type Attack, sendAs } from './attack.ts';
import { podBody, type Scene, TEAM } from './scene.ts';
import { make } from './steps.ts';
import { SILENT_LOG } from '../silent-log.ts';
import { waitFor } from '../wait-for.ts';

interface StoredEvent {
  readonly metadata: { readonly name: string };
  readonly message: string;
  readonly count: number;
}

/** Notes an Event about n2 by the controller's account, while node n1 has made what `before` says under its name. */
async function eventInSpiteOf(scene: Scene, message: string, before: (event: StoredEvent) => object): Promise<void> {
  const { admin, controller, n1 } = scene.clients;
  const subject: EventSubject = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n2', uid: 'u-n2' } };
  const path = collectionPath(EVENTS, 'default');
  const all = async (): Promise<readonly StoredEvent[]> => {
    const { body } = await sendAs(admin, { method: 'GET', path });
    return (body as { items: readonly StoredEvent[] }).items.filter((event) => event.message === message);
  };
  const tell = async (): Promise<void> => {
    const stop = new AbortController();
    const recorder = createEventRecorder('nodemaint-controller', {
      client: controller,
      clock: createSystemClock(),
      log: SILENT_LOG,
    });
    const running = recorder.run(stop.signal);
    recorder.record(subject, { type: 'Warning', reason: 'WentDown', message });
    await waitFor('the Event is written', async () => (await all()).some(({ count }) => count === 1));
    stop.abort();
    await running;
  };
  await tell();
  const [honest] = await all();
  assert.ok(honest !== undefined);
  await sendAs(admin, {
    method: 'DELETE',
    path: objectPath(EVENTS, { name: honest.metadata.name, namespace: 'default' }),
  });
  const metadata = { name: honest.metadata.name, namespace: 'default' };
  assert.equal((await sendAs(n1, { method: 'POST', path, body: before({ ...honest, metadata }) })).status, 201);
  await tell();
}

export const NODE_CONSEQUENCES: readonly Attack[] = [
  {
    name: 'makes the Event first whose name the controller would take, about something else',
    refusedBy: 'controller: a name that is taken is not its own, the Event gets another one',
    attempt: (scene) => eventInSpiteOf(scene, 'one', (event) => ({ ...event, message: 'All is well.' })),
  },
  {
    name: 'makes that Event as it would be, counted to the end',
    refusedBy: 'controller: a count that cannot grow is not its own, the Event gets another name',
    attempt: (scene) => eventInSpiteOf(scene, 'two', (event) => ({ ...event, count: 2 ** 31 - 1 })),
  },
  {
    name: 'writes escape sequences into the reason of its maintenance',
    refusedBy: 'nodemaint: control characters are escaped where the terminal is written',
    attempt: async (scene) => {
      const metadata = { name: 'shutdown-n1-1', labels: { 'nodemaintenance.x-k8s.io/agent': 'n1' } };
      const spec = { stage: 'Idle', reason: 'EVIL\u001B[2J\u009B1A\u202Ex', nodeSelector: byName('n1') };
      await make(scene, 'n1', collectionPath(NODE_MAINTENANCES), maintenanceOf(spec, metadata));
      let shown = '';
      const output = { write: (text: string): void => void (shown += text) };
      const { signal } = new AbortController();
      const terminal = createTerminal({ output, errors: output, now: Date.now, stop: signal, signal });
      await runCommandLine(['status', '--kubeconfig', scene.controlPlane.adminKubeconfig], terminal);
      assert.match(shown, /EVIL/u);
      assert.doesNotMatch(shown, /[^\P{Cc}\n]|\p{Cf}/u);
    },
  },
  {
    name: 'gives its static pod a time to end that no clock can tell',
    refusedBy: 'controller: times of pods are bounded where they are read',
    attempt: async (scene) => {
      const long = podBody('long', {}, { nodeName: 'n1', terminationGracePeriodSeconds: 2 ** 53 });
      await make(scene, 'editor', collectionPath(PODS, TEAM), long);
      const body = maintenanceOf({ stage: 'Drain', nodeSelector: byName('n1', 'n2') }, { name: 'drain-both' });
      await make(scene, 'admin', collectionPath(NODE_MAINTENANCES), body);
      await waitFor('both nodes have targets', async () => {
        const path = objectPath(NODE_MAINTENANCES, { name: 'drain-both' });
        const answer = await sendAs(scene.clients.admin, { method: 'GET', path });
        const nodes = (answer.body as NodeMaintenance).status?.nodeStatuses ?? [];
        return nodes.length === 2 && nodes.every(({ drainTargets = [] }) => drainTargets.length > 0);
      });
    },
  },
];
