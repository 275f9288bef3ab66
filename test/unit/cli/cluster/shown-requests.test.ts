import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withShownRequests } from '../../../../src/cli/cluster/shown-requests.ts';
import type { KubeClient } from '../../../../src/kube/client.ts';

const { signal } = new AbortController();
const SERVER = new URL('https://user:pass@api.example:6443/prefix/');

describe('what -v says of requests', () => {
  it('it says method, address, status and time, and nothing that is in headers and bodies', async () => {
    let said = '';
    const client: KubeClient = {
      send: () =>
        Promise.resolve({ status: 200, headers: { authorization: 'Bearer hunter2' }, body: { data: 'hunter2' } }),
      watch: async function* () {},
      close: () => undefined,
    };
    const shown = withShownRequests(client, SERVER, (text) => (said += text));
    await shown.send({ method: 'PATCH', path: '/api/v1/pods/x?limit=5', body: { token: 'hunter2' } }, signal);
    assert.match(said, /^PATCH https:\/\/api\.example:6443\/prefix\/api\/v1\/pods\/x\?limit=5 200 in \d+ ms\n$/);
  });

  it('it says which request failed, and why', async () => {
    let said = '';
    const client: KubeClient = {
      send: () => Promise.reject(new Error('no route')),
      watch: async function* () {},
      close: () => undefined,
    };
    const shown = withShownRequests(client, SERVER, (text) => (said += text));
    await assert.rejects(shown.send({ method: 'GET', path: '/version' }, signal), /no route/);
    assert.match(said, /^GET https:\/\/api\.example:6443\/prefix\/version failed in \d+ ms: no route\n$/);
  });
});
