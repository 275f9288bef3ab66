/** Commands about a whole cluster as a person runs them, on a real API server: uninstall-cluster at a terminal. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { policyKinds } from '../../control-plane/releases.ts';
import { nodemaintCommand, runNodemaint } from '../../support/commands/nodemaint.ts';
import { maintenanceOf } from '../../support/maintenance/objects.ts';
import { buildEvictionRig, type EvictionRig } from '../../support/rigs/eviction.ts';
import { eventually } from '../../support/wait-for.ts';

describe('the commands of a whole cluster on a real API server', () => {
  let rig: EvictionRig;
  const stack = new AsyncDisposableStack();
  before(async () => {
    rig = stack.use(await buildEvictionRig());
  });
  after(() => stack.disposeAsync());

  const apply = (object: object): Promise<string> =>
    rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const access = (): readonly string[] => ['--kubeconfig', rig.controlPlane.adminKubeconfig];

  it('uninstall-cluster shows first, asks at a terminal, and does nothing without the word yes', async () => {
    await apply({
      ...maintenanceOf({}, { name: 'planted' }),
      apiVersion: 'nodemaintenance.x-k8s.io/v1alpha1',
      kind: 'NodeMaintenance',
    });
    const isThere = async (): Promise<boolean> =>
      (await rig.controlPlane.kubectl(['get', policyKinds(), '-o', 'name'])).includes('/nodemaint-daemonset-gate') &&
      (await rig.controlPlane.kubectl(['get', 'nm', '-o', 'name'])).includes('/planted');
    const dry = await runNodemaint(['uninstall-cluster', '--dry-run', ...access()]);
    assert.equal(dry.code, 0, dry.stderr);
    assert.match(
      dry.stdout,
      /^This would end 1 maintenance: planted \(\w+\), and remove the DaemonSet gate and the rights of controller and nodes, in the cluster https:/,
    );
    assert.equal(await isThere(), true, 'a dry run changes nothing');
    const piped = await runNodemaint(['uninstall-cluster', ...access()]);
    assert.equal(piped.code, 2);
    assert.match(piped.stderr, /write --yes, or look first with --dry-run/);
    for (const answer of ['no', 'y', '']) {
      const { code, shown } = await atTerminal(['uninstall-cluster', ...access()], answer);
      assert.match(
        shown,
        /This ends 1 maintenance: planted [\s\S]*Write "yes" to go on: [\s\S]*nothing was done/,
        answer,
      );
      assert.equal(code, 1, shown);
    }
    assert.equal(await isThere(), true, 'another word changes nothing');
    const words = ['uninstall-cluster', '--force', '--timeout', '1s', ...access()];
    const { code, shown } = await atTerminal(words, 'yes');
    assert.equal(code, 0, shown);
    assert.match(shown, /All maintenances are ended and all pods are released/);
    await eventually(async () => {
      assert.equal(await rig.controlPlane.kubectl(['get', 'nm', '-o', 'name']), '');
    });
  });
});

/** Runs nodemaint on a pseudo terminal and writes an answer to its question; returns what the terminal has shown. */
async function atTerminal(
  args: readonly string[],
  answer: string,
): Promise<{ readonly code: number; readonly shown: string }> {
  const line = nodemaintCommand(args)
    .map((word) => `'${word}'`)
    .join(' ');
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', line, '/dev/null']);
  let shown = '';
  let isAnswered = false;
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
    if (isAnswered || !shown.includes('to go on: ')) return;
    isAnswered = true;
    child.stdin.write(`${answer}\n`);
  });
  const [code] = (await once(child, 'close', { signal: AbortSignal.timeout(60_000) })) as [number];
  return { code, shown };
}
