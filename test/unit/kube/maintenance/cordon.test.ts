import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CORDONED_ANNOTATION } from '../../../../src/api/names.ts';
import { syncCordon } from '../../../../src/kube/maintenance/cordon.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';

const SIGNAL = new AbortController().signal;
const PATH = '/api/v1/nodes/n1';
const FREE = { metadata: { name: 'n1' } };
const OURS = { metadata: { name: 'n1', annotations: { [CORDONED_ANNOTATION]: 'm' } }, spec: { unschedulable: true } };

describe('syncCordon', () => {
  it('syncCordon writes annotations with the cordon, and alone where the cordon is right', async () => {
    const server = createObjectServer();
    const wanted = { wantedBy: ['m'], annotations: { note: 'text' } };
    assert.equal(await syncCordon(server.client, { node: FREE, ...wanted }, SIGNAL), 'changed');
    assert.equal(await syncCordon(server.client, { node: OURS, ...wanted }, SIGNAL), 'annotated');
    const noted = {
      ...OURS,
      metadata: { ...OURS.metadata, annotations: { ...OURS.metadata.annotations, note: 'text' } },
    };
    assert.equal(await syncCordon(server.client, { node: noted, ...wanted }, SIGNAL), 'unchanged');
    const none = { wantedBy: [], annotations: { note: undefined } };
    assert.equal(await syncCordon(server.client, { node: noted, ...none }, SIGNAL), 'changed');
    assert.deepEqual(
      server.requests.map(({ body }) => (body as { metadata: object }).metadata),
      [
        { annotations: { note: 'text', [CORDONED_ANNOTATION]: 'm' } },
        { annotations: { note: 'text' } },
        { annotations: { note: null, [CORDONED_ANNOTATION]: null } },
      ],
    );
  });

  it('syncCordon takes back its own cordon alone', async () => {
    const server = createObjectServer();
    assert.equal(await syncCordon(server.client, { node: OURS, wantedBy: [] }, SIGNAL), 'changed');
    const theirs = { metadata: { name: 'n1' }, spec: { unschedulable: true } };
    assert.equal(await syncCordon(server.client, { node: theirs, wantedBy: [] }, SIGNAL), 'unchanged');
    assert.deepEqual(server.asked, [`PATCH ${PATH}`]);
  });

  it('syncCordon takes back no cordon that somebody sets at the same time, and reads the node again where it may', async () => {
    const copy = { ...OURS, metadata: { ...OURS.metadata, resourceVersion: '1' } };
    const server = createObjectServer({ [PATH]: copy });
    server.refused.set(`PATCH ${PATH}`, 409);
    assert.equal(await syncCordon(server.client, { node: copy, wantedBy: [] }, SIGNAL), 'conflict');
    assert.match(JSON.stringify(server.requests[0]?.body), /"resourceVersion":"1"/);
    await assert.rejects(syncCordon(server.client, { node: 'n1', wantedBy: [] }, SIGNAL), { code: 'API_REFUSED' });
    assert.ok(server.asked.filter((what) => what.startsWith('GET')).length > 1);
  });

  it('syncCordon writes nothing where no write is allowed, and does not ask where there is nothing to write', async () => {
    const server = createObjectServer();
    let questions = 0;
    const mayWrite = (): Promise<boolean> => {
      questions += 1;
      return Promise.resolve(false);
    };
    assert.equal(await syncCordon(server.client, { node: FREE, wantedBy: ['m'], mayWrite }, SIGNAL), 'not-allowed');
    assert.equal(await syncCordon(server.client, { node: OURS, wantedBy: ['m'], mayWrite }, SIGNAL), 'unchanged');
    assert.equal(questions, 1);
    assert.deepEqual(server.asked, []);
  });

  it('syncCordon leaves a node alone that does not exist, and throws what the server refuses', async () => {
    const server = createObjectServer();
    assert.equal(await syncCordon(server.client, { node: 'n1', wantedBy: ['m'] }, SIGNAL), 'unchanged');
    server.refused.set(`PATCH ${PATH}`, 403);
    await assert.rejects(syncCordon(server.client, { node: FREE, wantedBy: ['m'] }, SIGNAL), { code: 'API_REFUSED' });
  });
});
