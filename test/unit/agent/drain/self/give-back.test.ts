import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createGiveBack } from '../../../../../src/agent/drain/self/give-back.ts';
import { CORDONED_ANNOTATION } from '../../../../../src/api/names.ts';
import { createSystemClock } from '../../../../../src/host/clock.ts';
import { SILENT_LOG } from '../../../../support/silent-log.ts';
import { createObjectServer, type ObjectServer } from '../../../../support/stand-ins/object-server.ts';

const SIGNAL = new AbortController().signal;
const NODE = '/api/v1/nodes/n1';
const OURS = { metadata: { name: 'n1', annotations: { [CORDONED_ANNOTATION]: 'm' } }, spec: { unschedulable: true } };
const always = (): Promise<boolean> => Promise.resolve(true);
const never = (): Promise<boolean> => Promise.resolve(false);

function open(isAfterShutdown: boolean, server: ObjectServer = createObjectServer({ [NODE]: OURS })) {
  const gates: string[] = [];
  let armed: boolean | undefined;
  const giveBack = createGiveBack(
    { client: server.client, clock: createSystemClock(), log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined },
    {
      arm: () => {
        armed = true;
      },
      leaveToController: () => {
        armed = false;
      },
      isArmed: (fallback) => armed ?? fallback,
      release: () => {
        gates.push('released');
        armed = false;
        return Promise.resolve();
      },
    },
    () => isAfterShutdown,
  );
  return { giveBack, gates, server };
}

describe('the give-back after a drain', () => {
  it('an agent that starts after a shutdown owes the give-back, and no other that has drained nothing', () => {
    assert.equal(open(true).giveBack.isOwed(), true);
    assert.equal(open(false).giveBack.isOwed(), false);
  });

  it('the agent gives back the cordon and then the gates, each once', async () => {
    const { giveBack, gates, server } = open(false);
    giveBack.owe();
    await giveBack.pass(always, SIGNAL);
    assert.deepEqual(server.asked, [`GET ${NODE}`, `PATCH ${NODE}`]);
    assert.deepEqual(gates, ['released']);
    assert.equal(giveBack.isOwed(), false);
    await giveBack.pass(always, SIGNAL);
    assert.equal(server.asked.length, 2);
  });

  it('the give-back stays owed where a controller may be alive, and where the API server refuses', async () => {
    const { giveBack, gates, server } = open(true);
    await giveBack.pass(never, SIGNAL);
    assert.deepEqual(server.asked, [`GET ${NODE}`]);
    server.refused.set(`PATCH ${NODE}`, 500);
    await assert.rejects(giveBack.pass(always, SIGNAL), { code: 'API_REFUSED' });
    assert.deepEqual([giveBack.isOwed(), gates], [true, []]);
  });

  it('the give-back is left to a controller that is alive', () => {
    const { giveBack } = open(true);
    giveBack.leaveToController();
    assert.equal(giveBack.isOwed(), false);
  });
});
