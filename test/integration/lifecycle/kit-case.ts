/** A responder as the documentation has it: its blocks are taken from the page, and nothing is added to them. */
import assert from 'node:assert/strict';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { it } from 'node:test';
import type { Eviction } from '../../../src/api/lifecycle.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { startProgram } from '../../control-plane/process.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { EVICTIONS, type LifecycleRig, PODS } from '../../support/rigs/lifecycle.ts';
import { DELETED, EVICTOR, type Scene } from './scene.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const NAMESPACE = 'shop';

/** The blocks of a language in the section "Write a responder". */
async function blocksOf(language: string): Promise<readonly string[]> {
  const page = await readFile(path.join(ROOT, 'docs', 'usage', 'lifecycle-api.md'), 'utf8');
  const [, section = ''] = /^## Write a responder\n(.*?)^## /msu.exec(page) ?? [];
  return [...section.matchAll(/^```(\w+)\n(.*?)^```$/gmsu)].flatMap(([, of, text = '']) =>
    of === language ? text : [],
  );
}

export function addKitCase(rigOf: () => LifecycleRig, scene: Scene): void {
  it('the responder of the documentation is asked first, works, and passes on to the Eviction API', async () => {
    await using stack = new AsyncDisposableStack();
    const rig = rigOf();
    await rig.createNamespace(NAMESPACE);
    const folder = await makeTestFolder('kit');
    stack.defer(() => rm(folder, { recursive: true }));
    await mkdir(path.join(folder, 'node_modules'));
    await symlink(ROOT, path.join(folder, 'node_modules', 'node-maintenance-agent'));
    const [program = ''] = await blocksOf('ts');
    const file = path.join(folder, 'responder.mts');
    await writeFile(file, program);
    for (const each of await blocksOf('yaml')) await rig.controlPlane.kubectl(['apply', '-f', '-'], each);
    const groups = ['system:serviceaccounts', `system:serviceaccounts:${NAMESPACE}`, 'system:authenticated'];
    const KUBECONFIG = await rig.controlPlane.kubeconfigFor(`system:serviceaccount:${NAMESPACE}:databases`, groups);
    const log = path.join(rig.controlPlane.logs, 'responder.log');
    stack.use(startProgram([process.execPath, file], log, { KUBECONFIG }));

    const pod = await rig.get<Pod>(PODS, NAMESPACE, 'db');
    assert.ok(pod);
    const request = await scene.createRequest(pod);
    const first = { metadata: { name: 'pod-1-db', namespace: NAMESPACE } };
    const said = await scene.untilEviction(first, 'the responder has completed', ({ status }) => {
      return status?.targetResponders?.[0]?.state === 'Completed';
    });
    assert.equal(said.status?.responders?.[0]?.message, 'everything is copied');
    await scene.untilRequest(request, DELETED, 1);
    const { status } = (await rig.get<Eviction>(EVICTIONS, NAMESPACE, 'pod-1-db')) ?? { status: undefined };
    assert.deepEqual(
      status?.targetResponders?.map(({ name, state }) => `${name} ${state}`),
      ['databases.example.com/backup Completed', `${EVICTOR} Completed`],
    );
  });
}
