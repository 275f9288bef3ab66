import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withShownRequests } from '../../../../src/cli/cluster/shown-requests.ts';
import type { KubeClient } from '../../../../src/kube/client.ts';

const { signal } = new AbortController();
const SERVER = new URL('https://user:pass@api.example:6443/prefix/');
const POD = {
  spec: { containers: [{ env: [{ name: 'DB_PASSWORD', value: 'hunter2' }] }] },
  text: 'some words '.repeat(500),
};

/** What is said at a level of one request, whose answer has a secret. */
async function saidAt(level: number): Promise<string> {
  let said = '';
  const client: KubeClient = {
    send: () => Promise.resolve({ status: 200, headers: { authorization: 'Bearer hunter2' }, body: POD }),
    watch: async function* () {},
    close: () => undefined,
  };
  const shown = withShownRequests(client, SERVER, level, (text) => (said += text));
  await shown.send({ method: 'PATCH', path: '/api/v1/pods/x?limit=5', body: { token: 'hunter2' } }, signal);
  return said;
}

describe('what -v says of requests', () => {
  it('at level 6 it says method, address, status and time', async () => {
    assert.match(
      await saidAt(6),
      /^PATCH https:\/\/api\.example:6443\/prefix\/api\/v1\/pods\/x\?limit=5 200 in \d+ ms\n$/,
    );
  });

  it('from level 8 on it says what is in them, cut, and without secrets', async () => {
    const [first, request, answer] = (await saidAt(8)).split('\n');
    assert.match(first ?? '', /^PATCH /);
    assert.match(request ?? '', /^ {2}request: \{ ?"token"/);
    assert.match(answer ?? '', /^ {2}answer: \{.*DB_PASSWORD.*\[cut: \d+ more characters\]$/);
    assert.ok((answer ?? '').length < 1_200);
    const all = await saidAt(10);
    assert.ok(all.length > 5_000);
    for (const text of [all, await saidAt(8), await saidAt(9)]) assert.doesNotMatch(text, /hunter2|user:pass/);
  });

  it('it says which request failed, and why', async () => {
    let said = '';
    const client: KubeClient = {
      send: () => Promise.reject(new Error('no route')),
      watch: async function* () {},
      close: () => undefined,
    };
    const shown = withShownRequests(client, SERVER, 6, (text) => (said += text));
    await assert.rejects(shown.send({ method: 'GET', path: '/version' }, signal), /no route/);
    assert.match(said, /^GET https:\/\/api\.example:6443\/prefix\/version failed in \d+ ms: no route\n$/);
  });
});
