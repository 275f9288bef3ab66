import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMirrorPodReader } from '../../../../src/agent/static-pods/mirror-pods.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';

describe('the reader of the mirror pods', () => {
  it('the reader tells which pods are mirror pods, and asks for those of its node alone', async () => {
    const annotations = { 'kubernetes.io/config.mirror': 'x' };
    const items = [
      { metadata: { name: 'static-n', namespace: 'default', annotations }, spec: {} },
      { metadata: { name: 'ordinary', namespace: 'default' }, spec: {} },
    ];
    const server = createObjectServer({ '/api/v1/pods': { metadata: { resourceVersion: '1' }, items } });
    const read = createMirrorPodReader({ client: server.client, log: createRecordingLog(), nodeName: 'n' });
    const told = await read(new AbortController().signal);
    assert.deepEqual([...(told?.keys() ?? [])], ['default/static-n']);
    assert.match(decodeURIComponent(server.requests[0]?.path ?? ''), /fieldSelector=spec\.nodeName=n/);
  });
});
