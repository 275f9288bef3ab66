/**
 * Lines of runbooks for kubectl, oc, kured, systemctl and shutdown, typed with nodemaint in place of the old command, as somebody
 * does who knows these: what happens, and that nothing is lost that the line has not named.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../src/api/pod.ts';
import { type CommandEnd, runCommand } from '../../support/commands/command.ts';
import { OPENSHIFT, REFUSED_LINES, type RefusedLine } from '../../support/commands/runbook-lines.ts';
import { buildEvictionRig, type EvictionRig } from '../../support/rigs/eviction.ts';

/** A line as it was written, without `kubectl`; N stands for a node of its own, M for another one. */
interface Line extends RefusedLine {
  readonly code: number;
  /** Whether the nodes are cordoned afterwards. */
  readonly cordons?: true;
}

const SAFELY_DRAIN = 'https://kubernetes.io/docs/tasks/administer-cluster/safely-drain-node/';

const NEEDS_CONSENT = /would create them again: .*--delete-unmanaged.*--delete-emptydir-data.*; nothing was done/s;

/** What is said is on standard error, or on standard output where nothing went wrong. */
const LINES: readonly Line[] = [
  { from: SAFELY_DRAIN, words: ['drain', 'N'], code: 1, says: NEEDS_CONSENT },
  { from: SAFELY_DRAIN, words: ['uncordon', 'N'], code: 0, says: /^node\/\S+ is not under maintenance$/m },
  { from: OPENSHIFT, words: ['cordon', 'N'], code: 0, says: /^node\/\S+ cordoned$/m, cordons: true },
  { from: OPENSHIFT, words: ['drain', 'N', 'M', '--timeout=5s'], code: 1, says: NEEDS_CONSENT },
  ...REFUSED_LINES.map((line) => ({ ...line, code: 2 })),
];

/** A version that no API server has: the garbage collector leaves alone what it cannot look up. */
const OWNER_VERSION = 'apps/v9';

/** Kinds of pods that each node has, by their owner and what else there is to them. */
const OWNERS = { web: 'ReplicaSet', cache: 'ReplicaSet', logger: 'DaemonSet', naked: undefined } as const;

describe('lines of runbooks, on a real API server with the real controller', () => {
  let rig: EvictionRig;

  const run = (...args: string[]): Promise<CommandEnd> =>
    runCommand([...args, '--kubeconfig', rig.controlPlane.adminKubeconfig]);
  const get = async <T>(...what: string[]): Promise<T> =>
    JSON.parse(await rig.controlPlane.kubectl(['get', ...what, '-o', 'json'])) as T;
  const podsOf = async (node: string): Promise<readonly string[]> => {
    const { items } = await get<{ items: Pod[] }>('pods', `--field-selector=spec.nodeName=${node}`);
    return items.map(({ metadata }) => metadata.name.replace(/-.*/, '')).toSorted();
  };
  const isCordoned = async (node: string): Promise<boolean> =>
    (await get<Node>('node', node)).spec?.unschedulable === true;
  const maintenancesOf = async (node: string): Promise<readonly string[]> =>
    (await get<{ items: NodeMaintenance[] }>('nm')).items
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.includes(node));

  /** A node with a pod of each kind, which ends as soon as it is deleted. */
  const nodeWithPods = (node: string): readonly object[] => [
    { apiVersion: 'v1', kind: 'Node', metadata: { name: node, labels: { line: node } } },
    ...Object.entries(OWNERS).map(([name, kind]) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${name}-${node}`,
        namespace: 'default',
        labels: { app: name },
        ...(kind === undefined
          ? {}
          : { ownerReferences: [{ apiVersion: OWNER_VERSION, kind, name, uid: name, controller: true }] }),
      },
      spec: {
        nodeName: node,
        terminationGracePeriodSeconds: 0,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'main', image: 'none.invalid/none' }],
        volumes: name === 'cache' ? [{ name: 'data', emptyDir: {} }] : [],
      },
    })),
  ];

  before(async () => {
    rig = await buildEvictionRig();
    await rig.startController();
    const nodes = [...LINES.flatMap((_, index) => [`n${index}`, `m${index}`]), 'n-after'];
    const list = { apiVersion: 'v1', kind: 'List', items: nodes.flatMap(nodeWithPods) };
    await rig.controlPlane.kubectl(['create', '-f', '-'], JSON.stringify(list));
  });
  after(async () => {
    await rig[Symbol.asyncDispose]();
  });

  for (const [index, { from, words, code, says, cordons }] of LINES.entries()) {
    it(`nodemaint ${words.join(' ')}: ${from}`, async () => {
      const node = `n${index}`;
      const typed = words.map((word) => word.replace(/(^|=)N$/, `$1${node}`).replace(/^M$/, `m${index}`));
      const { code: got, stdout, stderr } = await run(...typed);
      assert.equal(got, code, stdout + stderr);
      assert.match(code === 0 ? stdout : stderr, says);
      assert.deepEqual(await podsOf(node), ['cache', 'logger', 'naked', 'web'], 'no pod has left');
      assert.equal(await isCordoned(node), cordons === true);
      if (cordons !== true) assert.deepEqual(await maintenancesOf(node), []);
    });
  }

  it('the line that follows the advice does what kubectl would, and the node comes back', async () => {
    const drain = ['drain', 'n-after', '--keep', 'daemonsets', '--delete-unmanaged', '--delete-emptydir-data'];
    const { code, stdout, stderr } = await run(...drain, '--timeout=60s');
    assert.equal(code, 0, stdout + stderr);
    assert.deepEqual(await podsOf('n-after'), ['logger']);
    assert.equal(await isCordoned('n-after'), true);
    const back = await run('uncordon', 'n-after');
    assert.equal(back.code, 0, back.stderr);
    assert.match(back.stdout, /^node\/n-after uncordoned$/m);
    assert.equal(await isCordoned('n-after'), false);
  });
});
