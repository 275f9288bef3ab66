import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { loadUserAccess } from '../../../../src/kube/access/user.ts';
import { temporaryFolder } from '../../../support/folder.ts';

const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: ctx
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: ctx, context: {cluster: c, user: u}}]
`;

describe('the way of a person to the API server', () => {
  it('acts as another user and groups, with the own credentials', async (t) => {
    const kubeconfig = path.join(await temporaryFolder(t, 'access'), 'kubeconfig');
    await writeFile(kubeconfig, KUBECONFIG);
    const headersOf = async (flags: object): Promise<unknown> => {
      const options = { headers: {} };
      await (await loadUserAccess({ kubeconfig, ...flags })).authenticate(options);
      return { ...options.headers };
    };
    const own = { Authorization: 'Bearer t' };
    assert.deepEqual(await headersOf({}), own);
    assert.deepEqual(await headersOf({ as: 'ana' }), { ...own, 'Impersonate-User': 'ana' });
    const groups = { 'Impersonate-User': 'ana', 'Impersonate-Group': ['ops', 'night'] };
    assert.deepEqual(await headersOf({ as: 'ana', asGroup: ['ops', 'night'] }), { ...own, ...groups });
    await assert.rejects(loadUserAccess({ kubeconfig, asGroup: ['ops'] }), /--as-group needs --as/);
  });
});
