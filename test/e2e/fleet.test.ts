/**
 * The installer of a fleet, a DaemonSet, on two real nodes of one cluster, each with its own systemd in a container: it
 * installs the agents, upgrades them one after the other, leaves a node alone that goes down, and takes the agents off again.
 */
import assert from 'node:assert/strict';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { CONFIG_API_VERSION } from '../../src/api/names.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { deployment } from '../node/pods.ts';
import { installManifests, startNodemaint } from '../support/commands/nodemaint.ts';
import { makeTestFolder } from '../support/folder.ts';
import { nextImage } from '../support/next-image.ts';
import { waitFor } from '../support/wait-for.ts';
import { type ClusterNode, HOST_FROM_NODES, startClusterNode } from '../systemd/cluster-node.ts';
import { systemRoot } from '../systemd/roots.ts';
import { AGENT_WATCHES } from './machine/install.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
const NODES = ['node-a', 'node-b'] as const;
const BUNDLE = 'usr/lib/nodemaint/dist/nodemaint.cjs';
const FIRST = 'localhost/nodemaint:0.3.0';
const NEXT = 'localhost/nodemaint:next';
const NAMESPACE = 'nodemaint-installer';
const WITNESS = '/var/witness';
const ROLL_OUT = ['-n', NAMESPACE, 'rollout', 'status', 'daemonset/nodemaint-installer', '--timeout=240s'];
const WAIT_MS = 240_000;
/** All files of ours; the folder that the pod's volume made stays, empty. */
const OURS =
  "find /etc /usr /opt /var/lib /var/cache /run /root -xdev -name '*nodemaint*' ! -path '/var/lib/kubelet/*' ! -name nodemaint-install.lock | sort";
const IS_HELD = "systemd-inhibit --list --no-pager --no-legend | grep -q '^nodemaint .*delay'";
const SAYS_NEXT = "tail -n 1 /usr/lib/nodemaint/nodemaint.cjs | grep -qx '// next'";
const LOG = `cat /var/lib/kubelet/pod-logs/${NAMESPACE}_*/install/*.log`;

/** When installations on a node began and ended, in seconds since the epoch. */
async function installations(node: ClusterNode): Promise<readonly (readonly [number, number])[]> {
  const said = 'journalctl -u nodemaint-install -o short-unix --no-pager | grep "systemd\\[1\\]"';
  const text = await node.system().must(said);
  const times = (what: string): readonly number[] =>
    [...text.matchAll(new RegExp(`^([\\d.]+) .*: ${what} .*nodemaint-install`, 'gm'))].map(([, time]) => Number(time));
  const ends = times('Finished');
  return times('Starting').map((begin, index) => [begin, ends[index] ?? Number.POSITIVE_INFINITY]);
}

describe('the installer of a fleet on two real nodes', () => {
  const { signal } = new AbortController();
  const stack = new AsyncDisposableStack();
  let controlPlane: ControlPlane;
  let nodes: readonly ClusterNode[];
  let folder: string;
  let files: readonly string[];

  const kubectl = (...args: readonly string[]): Promise<string> => controlPlane.kubectl(args);
  const onAll = async (command: string): Promise<readonly string[]> =>
    await Promise.all(nodes.map((node) => node.system().must(command)));
  const until = (node: ClusterNode, condition: string): Promise<void> =>
    waitFor(`on ${node.name}: ${condition}`, async () => (await node.system().run(condition)).code === 0, {
      timeoutMs: WAIT_MS,
    });
  const rollOut = async (t: TestContext): Promise<void> => {
    const started = performance.now();
    await kubectl(...ROLL_OUT).catch(async (error: unknown) => {
      const said = (await Promise.all(nodes.map((node) => node.system().run(LOG)))).map(({ stdout }) => stdout);
      const pods = await kubectl('-n', NAMESPACE, 'get', 'pods', '-o', 'wide');
      throw new Error([pods, ...said].join('\n---\n'), { cause: error });
    });
    t.diagnostic(`rolled out in ${Math.round((performance.now() - started) / 1000)} s`);
  };
  const use = (image: string): Promise<string> =>
    kubectl('-n', NAMESPACE, 'set', 'image', 'ds/nodemaint-installer', `install=${image}`, `done=${image}`);

  before(async () => {
    folder = await makeTestFolder('fleet');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const bundle = await readFile(path.join(ROOT, 'dist', 'nodemaint.cjs'), 'utf8');
    const archive = path.join(ROOT, 'dist', 'nodemaint-image.tar');
    const next = await nextImage(archive, NEXT, { [BUNDLE]: `${bundle}\n// next\n` }, folder);
    const reached = { bindAddress: '0.0.0.0', extraSans: [HOST_FROM_NODES] };
    controlPlane = stack.use(await startControlPlane(reached, signal));
    const controller = await installManifests(controlPlane);
    stack.use(startNodemaint(['controller', '--kubeconfig', controller], path.join(folder, 'controller.log')));
    const root = await systemRoot('12', signal);
    const started: ClusterNode[] = [];
    for (const [index, name] of NODES.entries()) {
      const own = path.join(folder, name);
      await mkdir(own);
      const plan = { controlPlane, name, number: index + 1, folder: own, root };
      const node = stack.use(await startClusterNode(plan, signal));
      await node.importImage(archive);
      await node.importImage(next);
      started.push(node);
    }
    nodes = started;
    files = await onAll(OURS);
    await cp(path.join(ROOT, 'manifests', 'installer'), path.join(folder, 'installer'), { recursive: true });
    const dropIn = `apiVersion: ${CONFIG_API_VERSION}\nkind: AgentConfiguration\nmaxHoldSec: 3600\n`;
    const patch = [{ op: 'replace', path: '/data/config.yaml', value: dropIn }];
    const target = { kind: 'ConfigMap', name: 'nodemaint-installer' };
    const overlay = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      components: ['installer'],
      patches: [{ target, patch: JSON.stringify(patch) }],
    };
    await writeFile(path.join(folder, 'kustomization.yaml'), JSON.stringify(overlay));
  });

  after(() => stack.disposeAsync());

  it('the installer puts the agent on both nodes with the drop-in of its ConfigMap; each holds the lock', async (t) => {
    await kubectl('apply', '-k', folder);
    await rollOut(t);
    await onAll(`${IS_HELD} && ! ${SAYS_NEXT}`);
    for (const node of nodes) await until(node, AGENT_WATCHES);
    assert.deepEqual(await onAll('nodemaint config show maxHoldSec'), ['3600\n', '3600\n']);
  });

  it('the installer upgrades one node after the other', async (t) => {
    await use(NEXT);
    await rollOut(t);
    await onAll(`${SAYS_NEXT} && ${IS_HELD}`);
    const [a, b] = (await Promise.all(nodes.map(installations))).map((all) => all.at(-1));
    t.diagnostic(`node-a from ${a?.join(' to ')}, node-b from ${b?.join(' to ')}`);
    assert.ok(a !== undefined && b !== undefined);
    assert.ok(a[1] < b[0] || b[1] < a[0], 'both were upgraded at the same time');
  });

  it('the installer leaves a node alone that goes down, and upgrades it after its boot', async (t) => {
    const [node] = nodes;
    assert.ok(node !== undefined);
    await node.system().must(`mkdir -p ${WITNESS}`);
    const pinned = deployment('web', { stopsAt: 'go', graceSec: 900, witness: WITNESS }) as {
      spec: { template: { spec: object } };
    };
    Object.assign(pinned.spec.template.spec, { nodeSelector: { 'kubernetes.io/hostname': node.name } });
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(pinned));
    await kubectl('rollout', 'status', 'deployment/web', '--timeout=300s');
    await until(node, AGENT_WATCHES);
    await node.system().must('systemctl reboot');
    await until(node, `grep -q 'web TERM' ${WITNESS}/log`);

    await use(FIRST);
    await until(node, `${LOG} 2> /dev/null | grep -q 'nothing was changed, because'`);
    t.diagnostic(await node.system().must(`${LOG} | grep 'nothing was changed' | tail -n 1`));
    await node.system().must(`${SAYS_NEXT} && ${IS_HELD} && touch ${WITNESS}/go`);
    await waitFor('the node goes down', () => Promise.resolve(node.system().hasEnded()), { timeoutMs: WAIT_MS });
    await node.boot();
    await rollOut(t);
    await onAll(`${IS_HELD} && ! ${SAYS_NEXT}`);
    for (const each of nodes) await until(each, AGENT_WATCHES);
  });

  it('the installer takes the agents off, and leaves nothing but the empty folder of its volume', async (t) => {
    const args = ['install-node', '--', 'uninstall', '--purge', '--when-idle'];
    const patch = [{ op: 'replace', path: '/spec/template/spec/initContainers/0/args', value: args }];
    await kubectl('-n', NAMESPACE, 'patch', 'ds/nodemaint-installer', '--type=json', '-p', JSON.stringify(patch));
    await rollOut(t);
    await kubectl('delete', '-k', folder, '--wait=true', '--timeout=120s');
    const isEmpty = '[ -z "$(ls -A /var/lib/nodemaint-installer)" ] && rmdir /var/lib/nodemaint-installer';
    await onAll(`! ${IS_HELD} && ${isEmpty}`);
    assert.deepEqual(await onAll(OURS), files);
  });
});
