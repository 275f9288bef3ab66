import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GiveBack } from '../../../../src/agent/drain/uncordon.ts';
import { CORDONED_ANNOTATION } from '../../../../src/api/names.ts';
import { createOwnNode } from '../../../../src/agent/cluster/own-node.ts';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { createObjectServer, type ObjectServer } from '../../../support/stand-ins/object-server.ts';

const SIGNAL = new AbortController().signal;
const NODE = '/api/v1/nodes/n1';
const OURS = { metadata: { name: 'n1', annotations: { [CORDONED_ANNOTATION]: 'm' } }, spec: { unschedulable: true } };
const always = (): Promise<boolean> => Promise.resolve(true);
const never = (): Promise<boolean> => Promise.resolve(false);

function open(isAfterShutdown: boolean, server: ObjectServer = createObjectServer({ [NODE]: OURS })) {
  const gates: string[] = [];
  const clock = createSystemClock();
  const dependencies = { client: server.client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined };
  const giveBack = new GiveBack(dependencies, {
    gates: {
      begin: () => undefined,
      isDue: () => true,
      release: () => {
        gates.push('released');
        return Promise.resolve(true);
      },
    },
    ownNode: createOwnNode(dependencies),
    isAfterShutdown: () => isAfterShutdown,
  });
  return { giveBack, gates, server };
}

describe('the give-back after a drain', () => {
  it('an agent that starts after a shutdown owes the give-back, and no other that has drained nothing', () => {
    assert.equal(open(true).giveBack.needsRevert(), true);
    assert.equal(open(false).giveBack.needsRevert(), false);
  });

  const free = { metadata: { name: 'n1' }, spec: { unschedulable: true } };
  const finds: [string, object | undefined, readonly NodeMaintenance[], boolean][] = [
    ['is cordoned for a maintenance that is over', OURS, [], true],
    ['is cordoned for one that is complete', OURS, [drainOf('m', ['n1'], { stage: 'Complete' })], true],
    ['is cordoned for one that goes on', OURS, [drainOf('m', ['n1', 'n2'])], false],
    ['was cordoned by a person', free, [], false],
    ['is gone', undefined, [], false],
  ];
  for (const [what, node, maintenances, needsRevert] of finds) {
    it(`an agent that starts where the node ${what} ${needsRevert ? 'owes' : 'does not owe'} the give-back`, async () => {
      const { giveBack } = open(false, createObjectServer(node === undefined ? {} : { [NODE]: node }));
      await giveBack.find(maintenances, SIGNAL);
      assert.equal(giveBack.needsRevert(), needsRevert);
    });
  }

  it('an agent looks at its Node once, and not at all where it knows more', async () => {
    const { giveBack, server } = open(false);
    await giveBack.find([], SIGNAL);
    await giveBack.find([], SIGNAL);
    assert.deepEqual(server.asked, [`GET ${NODE}`]);
    const other = open(false);
    other.giveBack.leaveToController();
    await other.giveBack.find([], SIGNAL);
    assert.deepEqual(other.server.asked, []);
  });

  it('the agent gives back the cordon and then the gates, each once', async () => {
    const { giveBack, gates, server } = open(false);
    giveBack.markForRevert();
    await giveBack.pass(always, SIGNAL);
    assert.deepEqual(server.asked, [`GET ${NODE}`, `PATCH ${NODE}`]);
    assert.deepEqual(gates, ['released']);
    assert.equal(giveBack.needsRevert(), false);
    await giveBack.pass(always, SIGNAL);
    assert.equal(server.asked.length, 2);
  });

  it('the give-back stays owed where a controller may be alive, and where the API server refuses', async () => {
    const { giveBack, gates, server } = open(true);
    await giveBack.pass(never, SIGNAL);
    assert.deepEqual(server.asked, [`GET ${NODE}`]);
    server.refused.set(`PATCH ${NODE}`, 500);
    await assert.rejects(giveBack.pass(always, SIGNAL), { code: 'API_REFUSED' });
    assert.deepEqual([giveBack.needsRevert(), gates], [true, []]);
  });

  it('the give-back is left to a controller that is alive', () => {
    const { giveBack } = open(true);
    giveBack.leaveToController();
    assert.equal(giveBack.needsRevert(), false);
  });
});
