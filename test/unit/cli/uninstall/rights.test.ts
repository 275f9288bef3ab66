import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { globSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { type Binding, isOfManifests, removeRights } from '../../../../src/cli/uninstall/rights.ts';
import type { KubeClient } from '../../../../src/kube/client.ts';
import { createMemoryCluster } from '../../../support/stand-ins/memory-cluster.ts';

const MANIFESTS = path.join(import.meta.dirname, '..', '..', '..', '..', 'manifests');
const NODES = { kind: 'Group', name: 'system:nodes' };
const CONTROLLER = { kind: 'ServiceAccount', name: 'nodemaint-controller', namespace: 'nodemaint-system' };

function binding(name: string, ...subjects: NonNullable<Binding['subjects']>): Binding {
  return { metadata: { name, namespace: 'nodemaint-system' }, subjects };
}

describe('the rights that uninstall-cluster takes away', () => {
  it('the rights are all bindings of the manifests to the accounts of the product and to nodes', async () => {
    const files = globSync('*/*.yaml', { cwd: MANIFESTS });
    const texts = await Promise.all(files.map((file) => readFile(path.join(MANIFESTS, file), 'utf8')));
    const objects = texts.flatMap((text) =>
      parseAllDocuments(text).map((each) => each.toJS() as Binding & { kind: string }),
    );
    const bindings = objects.filter(({ kind }) => kind === 'RoleBinding' || kind === 'ClusterRoleBinding');
    assert.ok(bindings.length >= 8, String(bindings.length));
    const others = bindings.filter((each) => !isOfManifests(each)).map(({ metadata }) => metadata.name);
    assert.deepEqual(others, []);
  });

  it('the rights are none that an administrator has given to people or to other accounts', () => {
    const person = { kind: 'User', name: 'ann' };
    const elsewhere = { ...CONTROLLER, namespace: 'default' };
    for (const each of [
      binding('nodemaint-people', person),
      binding('nodemaint-mixed', CONTROLLER, person),
      binding('nodemaint-elsewhere', elsewhere),
      binding('nodemaint-nobody'),
      binding('node-drainers', CONTROLLER),
    ]) {
      assert.equal(isOfManifests(each), false, each.metadata.name);
    }
    assert.ok(isOfManifests(binding('nodemaint-agent', NODES)) && isOfManifests(binding('nodemaint-x', CONTROLLER)));
  });

  it('the rights are deleted, those of other people are not, and one that is gone already is no error', async () => {
    const items = [binding('nodemaint-agent', NODES), binding('node-drainers', { kind: 'User', name: 'ann' })];
    const deleted: string[] = [];
    const { client: memory, clock } = createMemoryCluster().context;
    const client: KubeClient = {
      ...memory,
      send: async (call) => {
        if (call.method === 'GET')
          return { status: 200, headers: {}, body: { metadata: { resourceVersion: '1' }, items } };
        deleted.push(call.path);
        return await Promise.resolve({ status: 404, headers: {}, body: {} });
      },
    };
    const said: string[] = [];
    await removeRights({ client, clock, say: (text) => said.push(text) }, AbortSignal.timeout(5000));
    const root = '/apis/rbac.authorization.k8s.io/v1';
    assert.deepEqual(deleted, [
      `${root}/clusterrolebindings/nodemaint-agent`,
      `${root}/namespaces/nodemaint-system/rolebindings/nodemaint-agent`,
    ]);
    assert.deepEqual(said, ['The rights of the controller and the nodes are taken away.']);
  });
});
