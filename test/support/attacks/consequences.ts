/** What the API server does not refuse a node or a user, and what the product itself sees to. */
import assert from 'node:assert/strict';
import { GateRelease } from '../../../src/agent/daemon-set/gate.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { collectionPath, DAEMON_SETS, EVENTS, objectPath, PODS } from '../../../src/kube/resource.ts';
import { SILENT_LOG } from '../silent-log.ts';
import { allowed, type Attack, type Family, sendAs } from './attack.ts';
import { dry, heldBody, OTHER_TEAM, type Scene, TEAM } from './scene.ts';

/** The agent of n1 lets go of what is held in two namespaces, while pods of one of them are none that it may delete. */
async function releaseInSpiteOfTraps({ clients }: Scene): Promise<void> {
  const { admin, n1 } = clients;
  const make = async (resource: typeof PODS, namespace: string, body: object): Promise<void> => {
    const path = collectionPath(resource, namespace);
    assert.equal((await sendAs(admin, { method: 'POST', path, body })).status, 201);
  };
  // Agents ask in the namespaces of DaemonSets alone.
  for (const namespace of [TEAM, OTHER_TEAM]) {
    const labels = { app: 'none' };
    const spec = { nodeSelector: { none: 'none' }, containers: [{ name: 'main', image: 'none.invalid/none' }] };
    await make(DAEMON_SETS, namespace, {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'none' },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    });
  }
  await make(PODS, OTHER_TEAM, heldBody('held', 'n1'));
  const refusals: string[] = [];
  const gates = new GateRelease({
    client: n1,
    clock: createSystemClock(),
    log: { ...SILENT_LOG, warn: (fields: object) => refusals.push(JSON.stringify(fields)) },
    nodeName: 'n1',
    onChange: () => undefined,
  });
  gates.begin();
  assert.equal(await gates.release(AbortSignal.timeout(30_000)), false, 'it is tried again');
  const path = objectPath(PODS, { name: 'held', namespace: OTHER_TEAM });
  assert.equal((await sendAs(admin, { method: 'GET', path })).status, 404, refusals.join());
}

const ATTACKS: readonly Attack[] = [
  {
    name: 'gives pods the label held-for, so that the pods of other namespaces stay held',
    refusedBy: 'agent: a namespace that is refused keeps no other one',
    attempt: releaseInSpiteOfTraps,
  },
];

/** They are carried out, after all others. */
export const CONSEQUENCES: Family = {
  title: 'what the API server lets through',
  control: allowed('n1', 'makes an Event', () =>
    dry('POST', collectionPath(EVENTS, 'default'), {
      body: { apiVersion: 'v1', kind: 'Event', metadata: { name: 'x' }, involvedObject: { namespace: 'default' } },
    }),
  ),
  attacks: ATTACKS,
};
