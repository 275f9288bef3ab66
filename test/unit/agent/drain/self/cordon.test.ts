import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSelfCordon } from '../../../../../src/agent/drain/self/cordon.ts';
import type { NodeMaintenance } from '../../../../../src/api/node-maintenance.ts';
import { SILENT_LOG } from '../../../../support/silent-log.ts';
import { createObjectServer } from '../../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const NODE = '/api/v1/nodes/n1';
const WANTED: NodeMaintenance[] = [{ metadata: { name: 'm' }, spec: { nodeSelector: { nodeSelectorTerms: [] } } }];
const always = (): Promise<boolean> => Promise.resolve(true);

function open() {
  const server = createObjectServer({ [NODE]: { metadata: { name: 'n1' } } });
  const clock = createSteppingClock();
  const cordon = createSelfCordon({
    client: server.client,
    clock,
    log: SILENT_LOG,
    nodeName: 'n1',
    onChange: () => undefined,
  });
  return { cordon, server, clock };
}

describe('the cordon of a node that its agent drains', () => {
  it('the cordon is asked for again at once after a refusal, so that no pod leaves a node that takes new ones', async () => {
    const { cordon, server } = open();
    server.refused.set(`PATCH ${NODE}`, 403);
    await assert.rejects(cordon.keep(WANTED, always, SIGNAL), { code: 'API_REFUSED' });
    await assert.rejects(cordon.keep(WANTED, always, SIGNAL), { code: 'API_REFUSED' });
    server.refused.clear();
    assert.equal(await cordon.keep(WANTED, always, SIGNAL), true);
    assert.equal(server.asked.filter((what) => what === `PATCH ${NODE}`).length, 3);
  });

  it('the cordon is read again after 15 s, and not before', async () => {
    const { cordon, server, clock } = open();
    await cordon.keep(WANTED, always, SIGNAL);
    clock.pass(14_000);
    assert.equal(await cordon.keep(WANTED, always, SIGNAL), true);
    assert.equal(server.asked.length, 2);
    clock.pass(2_000);
    await cordon.keep(WANTED, always, SIGNAL);
    assert.equal(server.asked.length, 4);
  });

  it('the cordon is not written by an agent that is no longer alone', async () => {
    const { cordon, server } = open();
    assert.equal(await cordon.keep(WANTED, () => Promise.resolve(false), SIGNAL), false);
    assert.deepEqual(server.asked, [`GET ${NODE}`]);
  });
});
