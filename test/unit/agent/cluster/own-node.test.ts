import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOwnNode } from '../../../../src/agent/cluster/own-node.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const PATH = '/api/v1/nodes/n';
const NODE = { metadata: { name: 'n' } };

describe('the Node object of the machine', () => {
  it('the Node object is absent since the first answer that said so, until there is another answer', async () => {
    const server = createObjectServer();
    const clock = createSteppingClock();
    const log = createRecordingLog();
    const ownNode = createOwnNode({ client: server.client, clock, log, nodeName: 'n', onChange: () => undefined });
    const observe = async (passMs: number) => {
      clock.pass(passMs);
      return await ownNode.observe(5_000, SIGNAL);
    };
    assert.deepEqual(await observe(0), { kind: 'absent', forMs: 0 });
    assert.deepEqual(await observe(4_999), { kind: 'absent', forMs: 0 }, 'not asked again');
    assert.deepEqual(await observe(1), { kind: 'absent', forMs: 5_000 });
    server.refused.set(`GET ${PATH}`, 500);
    assert.deepEqual(await observe(5_000), { kind: 'unknown' });
    assert.equal(log.lines.length, 1);
    server.refused.clear();
    assert.deepEqual(await observe(5_000), { kind: 'absent', forMs: 0 }, 'an answer was missed');
    server.objects.set(PATH, NODE);
    assert.deepEqual(await observe(5_000), { kind: 'present', node: NODE });
    assert.equal(server.asked.length, 5);
  });
});
