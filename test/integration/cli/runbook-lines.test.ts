/**
 * Lines of runbooks for kubectl, oc, kured, systemctl and shutdown, typed with nodemaint in place of the old command, as somebody
 * does who knows these: what happens, and that nothing is lost that the line has not named.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../src/api/pod.ts';
import { type CommandEnd, runCommand } from '../../support/commands/command.ts';
import { buildEvictionRig, type EvictionRig } from '../../support/rigs/eviction.ts';

/** A line as it was written, without `kubectl`; N stands for a node of its own, M for another one. */
interface Line {
  readonly from: string;
  readonly words: readonly string[];
  readonly code: number;
  /** What is said on standard error, or on standard output where nothing went wrong. */
  readonly says: RegExp;
  /** Whether the nodes are cordoned afterwards. */
  readonly cordons?: true;
}

const SAFELY_DRAIN = 'https://kubernetes.io/docs/tasks/administer-cluster/safely-drain-node/';
const KUBECTL_DRAIN = 'https://kubernetes.io/docs/reference/kubectl/generated/kubectl_drain';
const KUBEADM = 'https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/upgrading-linux-nodes/';
const OPENSHIFT = 'https://docs.openshift.com/container-platform/4.16/nodes/nodes/nodes-nodes-working.html';
const OPENSHIFT_OS =
  'https://miminar.fedorapeople.org/_preview/openshift-enterprise/registry-redeploy/upgrading/os_upgrades.html';
const GKE = 'https://alanzhan.dev/post/2022-07-10-kubernetes-cordon-drain';
const RKE = 'https://zaggash.github.io/rancherkb-fuzz/kbs/000020031';
const HARVESTER = 'https://docs.harvesterhci.io/v1.3/host/';
const PRIMER = 'https://grokdatum.github.io/grokdevops-wiki/library/topics/node-maintenance/primer';
const KUBECTL_TESTS = 'https://github.com/kubernetes/kubernetes/blob/master/test/cmd/node-management.sh';
const EKSCTL = 'a runbook of EKS in a public repository: the nodes of an eksctl node group before it is deleted';
const KARPENTER = 'a design of Karpenter in a public repository: a node is ended by force';
const KURED = 'https://kured.dev/docs/operation/';
const KURED_REBOOT = 'https://kured.dev/docs/configuration/';
const SYSTEMCTL = 'https://www.freedesktop.org/software/systemd/man/latest/systemctl.html';
const SHUTDOWN = 'https://www.freedesktop.org/software/systemd/man/latest/shutdown.html';

const NEEDS_CONSENT = /would create them again: .*--delete-unmanaged.*--delete-emptydir-data.*; nothing was done/s;
const DAEMON_SETS = /'--ignore-daemonsets(?:=true)?': DaemonSet pods leave too, .* use --keep daemonsets/;
const FORCE = /'--force(?:=true)?': to delete pods without a controller, .* use --delete-unmanaged;/;

const LINES: readonly Line[] = [
  { from: SAFELY_DRAIN, words: ['drain', 'N'], code: 1, says: NEEDS_CONSENT },
  { from: SAFELY_DRAIN, words: ['uncordon', 'N'], code: 0, says: /^node\/\S+ is not under maintenance$/m },
  { from: KUBECTL_DRAIN, words: ['drain', 'N', '--force'], code: 2, says: FORCE },
  {
    from: KUBECTL_DRAIN,
    words: ['drain', 'N', '--grace-period=900'],
    code: 2,
    says: /each pod has its own grace period; .* nodemaint trigger --reason TEXT --deadline TIME, on the node/,
  },
  { from: KUBEADM, words: ['drain', 'N', '--ignore-daemonsets'], code: 2, says: DAEMON_SETS },
  { from: OPENSHIFT, words: ['cordon', 'N'], code: 0, says: /^node\/\S+ cordoned$/m, cordons: true },
  { from: OPENSHIFT, words: ['drain', 'N', 'M', '--force=true'], code: 2, says: FORCE },
  { from: OPENSHIFT, words: ['drain', 'N', 'M', '--ignore-daemonsets=true'], code: 2, says: DAEMON_SETS },
  { from: OPENSHIFT, words: ['drain', 'N', 'M', '--timeout=5s'], code: 1, says: NEEDS_CONSENT },
  {
    from: OPENSHIFT_OS,
    words: ['drain', 'N', '--force', '--delete-local-data', '--ignore-daemonsets'],
    code: 2,
    says: /'--force'.*\n.*'--delete-local-data': use --delete-emptydir-data of drain\n.*'--ignore-daemonsets'/,
  },
  { from: GKE, words: ['drain', 'N', '--force', '--ignore-daemonsets'], code: 2, says: FORCE },
  { from: RKE, words: ['drain', 'N', '--ignore-daemonsets', '--delete-emptydir-data'], code: 2, says: DAEMON_SETS },
  {
    from: HARVESTER,
    words: [
      'drain',
      'N',
      '--force',
      '--ignore-daemonsets',
      '--delete-local-data',
      '--pod-selector=app!=csi-attacher,app!=csi-provisioner',
    ],
    code: 2,
    says: /'--pod-selector': write an entry with podSelector in a drain plan, and use --plan FILE/,
  },
  {
    from: PRIMER,
    words: [
      'drain',
      'N',
      '--ignore-daemonsets',
      '--delete-emptydir-data',
      '--grace-period=120',
      '--timeout=300s',
      '--force',
    ],
    code: 2,
    says: FORCE,
  },
  {
    from: KUBECTL_TESTS,
    words: ['drain', 'N', '--force', '--pod-selector', 'e in (f)', '--skip-wait-for-delete-timeout=1'],
    code: 2,
    says: /'--skip-wait-for-delete-timeout': a pod that does not end is named by "nodemaint status"; nothing is skipped/,
  },
  {
    from: EKSCTL,
    words: ['drain', '-l', 'line=N', '--ignore-daemonsets', '--delete-local-data', '--dry-run=client'],
    code: 2,
    says: DAEMON_SETS,
  },
  {
    from: KARPENTER,
    words: ['drain', 'N', '--disable-eviction=true'],
    code: 2,
    says: /to go past a PodDisruptionBudget, change the budget or delete the pod/,
  },
  {
    from: KURED,
    words: ['-n', 'kube-system', 'annotate', 'ds', 'kured', 'weave.works/kured-node-lock={"nodeID":"manual"}'],
    code: 2,
    says: /kubectl itself has this command/,
  },
  { from: KURED_REBOOT, words: ['reboot'], code: 2, says: /use "systemctl reboot" on the node: the agent holds it/ },
  { from: SYSTEMCTL, words: ['poweroff', '--force'], code: 2, says: /use "systemctl poweroff" on the node/ },
  { from: SHUTDOWN, words: ['shutdown', '-h', '+5'], code: 2, says: /use the command "shutdown" itself on the node/ },
  { from: SHUTDOWN, words: ['shutdown', '-c'], code: 2, says: /use the command "shutdown" itself on the node/ },
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
