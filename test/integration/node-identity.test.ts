import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { createKubeClient } from '../../src/kube/client.ts';
import { loadClusterAccess } from '../../src/kube/config.ts';
import { NODE_MAINTENANCES, objectPath, statusMessage } from '../../src/kube/resource.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { installManifests } from '../support/nodemaint.ts';

const NODE = 'node-a';

describe('the identity of a node, with its RBAC and policies', () => {
  it('lets a node harm nothing but itself', async () => {
    await using stack = new AsyncDisposableStack();
    const controlPlane = stack.use(await startControlPlane({}, AbortSignal.timeout(120_000)));
    await installManifests(controlPlane);
    const kubeconfig = await controlPlane.kubeconfigFor(`system:node:${NODE}`, ['system:nodes']);
    const { kubectl } = controlPlane.binaries;
    const asNode = async (object: object): Promise<string> => {
      const file = path.join(controlPlane.folder, 'object.json');
      await writeFile(file, JSON.stringify(object));
      const args = ['--kubeconfig', kubeconfig, 'apply', '-f', file];
      return await promisify(execFile)(kubectl, args).then(
        ({ stdout }) => stdout,
        (error: unknown) => (error as { stderr: string }).stderr,
      );
    };
    const maintenanceOf = (name: string, fields: object): object => ({
      apiVersion: 'nodemaintenance.x-k8s.io/v1alpha1',
      kind: 'NodeMaintenance',
      metadata: { name },
      spec: { stage: 'Idle', nodeSelector: { nodeSelectorTerms: [fields] } },
    });
    const field = (name: string): object => ({
      matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }],
    });
    assert.match(await asNode(maintenanceOf('own', field(NODE))), /created/);
    const refused = /a node may only make, change or delete a NodeMaintenance that selects itself alone/;
    assert.match(await asNode(maintenanceOf('other', field('node-b'))), refused);
    assert.match(
      await asNode(maintenanceOf('all', { matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] })),
      refused,
    );
    const named = maintenanceOf('named', field(NODE)) as { metadata: object };
    const labels = { 'nodemaintenance.x-k8s.io/agent': 'node-b' };
    assert.match(await asNode({ ...named, metadata: { name: 'named', labels } }), /in the name of another one/);

    const client = createKubeClient(await loadClusterAccess(kubeconfig), 'test');
    stack.defer(client.close);
    const patchStatus = async (name: string, node: string): Promise<string> => {
      const status = {
        nodeStatuses: [{ nodeRef: { name: node }, drainTargets: [{ podType: 'Static', podPriority: 0 }] }],
      };
      const where = objectPath(NODE_MAINTENANCES, { name }, 'status');
      const patch = { method: 'PATCH', path: where, body: { status }, patch: { kind: 'merge' } } as const;
      const response = await client.send(patch, AbortSignal.timeout(10_000));
      return response.status === 200 ? 'patched' : statusMessage(response);
    };
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(maintenanceOf('foreign', field('node-b'))));
    const both = {
      matchFields: [{ key: 'metadata.name', operator: 'In', values: [NODE] }],
      matchExpressions: [{ key: 'x', operator: 'Exists' }],
    };
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(maintenanceOf('both', both)));
    assert.match(await patchStatus('own', NODE), /patched/);
    assert.match(await patchStatus('own', 'node-b'), /may only write what becomes of itself/);
    assert.match(await patchStatus('foreign', NODE), refused);
    assert.match(await patchStatus('both', NODE), refused);
    const request = {
      apiVersion: 'coordination.x-k8s.io/v1alpha1',
      kind: 'EvictionRequest',
      metadata: { name: 'u-1', namespace: 'default' },
      spec: { target: { pod: { name: 'web', uid: 'u-1' } }, requesters: [{ name: 'a.example.com' }] },
    };
    assert.match(await asNode(request), /forbidden/);
  });
});
