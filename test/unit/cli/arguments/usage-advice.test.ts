import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCommandLine } from '../../../../src/cli/program.ts';
import { recordTerminal } from '../../../support/stand-ins/recorded-terminal.ts';

/** The flags of `kubectl drain`, `cordon` and `uncordon` of Kubernetes 1.36, and those that every command of kubectl has. */
const OF_KUBECTL = [
  '--chunk-size=500',
  '--delete-emptydir-data',
  '--disable-eviction',
  '--dry-run=server',
  '--force',
  '--grace-period=30',
  '--ignore-daemonsets',
  '--pod-selector=app=web',
  '--selector=pool=web',
  '-l=pool=web',
  '--skip-wait-for-delete-timeout=1',
  '--timeout=5m',
  '--as=ops',
  '--as-group=ops',
  '--as-uid=1',
  '--as-user-extra=a=b',
  '--cache-dir=/x',
  '--certificate-authority=/x',
  '--client-certificate=/x',
  '--client-key=/x',
  '--cluster=c',
  '--context=c',
  '--disable-compression',
  '--insecure-skip-tls-verify',
  '--kubeconfig=/nonexistent',
  '--kuberc=/x',
  '--log-flush-frequency=5s',
  '--match-server-version',
  '--namespace=n',
  '-n=n',
  '--password=p',
  '--profile=cpu',
  '--profile-output=/x',
  '--request-timeout=5s',
  '--request-timeout=0',
  '--request-timeout=30',
  '--server=https://127.0.0.1:1',
  '-s=https://127.0.0.1:1',
  '--tls-server-name=n',
  '--token=t',
  '--user=u',
  '--username=u',
  '--v=6',
  '-v=6',
  '-v6',
  '--vmodule=a=1',
  '--warnings-as-errors',
];

/** What a command says to one more flag of its own; the cluster is one that is not there, so that nothing can happen. */
async function saidOf(command: string, flag: string): Promise<string> {
  const recorded = recordTerminal('pipe');
  const cluster = flag.startsWith('--kubeconfig') ? [] : ['--kubeconfig=/nonexistent'];
  const nodes = /^(?:-l|--selector)/.test(flag) ? [] : ['n1'];
  assert.equal(await runCommandLine([command, ...nodes, flag, ...cluster], recorded.terminal), 2);
  return recorded.errors();
}

/** A line of a runbook without the name of its program, which nodemaint refuses with what to use; N and M stand for nodes. */
interface Line {
  /** Where it was found. */
  readonly from: string;
  readonly words: readonly string[];
  readonly says: RegExp;
}

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

const DAEMON_SETS = /'--ignore-daemonsets(?:=true)?': DaemonSet pods leave too, .* use --keep daemonsets/;
const FORCE = /'--force(?:=true)?': to delete pods without a controller, .* use --delete-unmanaged;/;

const LINES: readonly Line[] = [
  { from: KUBECTL_DRAIN, words: ['drain', 'N', '--force'], says: FORCE },
  {
    from: KUBECTL_DRAIN,
    words: ['drain', 'N', '--grace-period=900'],
    says: /each pod has its own grace period; .* nodemaint trigger --reason TEXT --deadline TIME, on the node/,
  },
  { from: KUBEADM, words: ['drain', 'N', '--ignore-daemonsets'], says: DAEMON_SETS },
  { from: OPENSHIFT, words: ['drain', 'N', 'M', '--force=true'], says: FORCE },
  { from: OPENSHIFT, words: ['drain', 'N', 'M', '--ignore-daemonsets=true'], says: DAEMON_SETS },
  {
    from: OPENSHIFT_OS,
    words: ['drain', 'N', '--force', '--delete-local-data', '--ignore-daemonsets'],
    says: /'--force'.*\n.*'--delete-local-data': use --delete-emptydir-data of drain\n.*'--ignore-daemonsets'/,
  },
  { from: GKE, words: ['drain', 'N', '--force', '--ignore-daemonsets'], says: FORCE },
  { from: RKE, words: ['drain', 'N', '--ignore-daemonsets', '--delete-emptydir-data'], says: DAEMON_SETS },
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
    says: FORCE,
  },
  {
    from: KUBECTL_TESTS,
    words: ['drain', 'N', '--force', '--pod-selector', 'e in (f)', '--skip-wait-for-delete-timeout=1'],
    says: /'--skip-wait-for-delete-timeout': a pod that does not end is named by "nodemaint status"; nothing is skipped/,
  },
  {
    from: EKSCTL,
    words: ['drain', '-l', 'line=N', '--ignore-daemonsets', '--delete-local-data', '--dry-run=client'],
    says: DAEMON_SETS,
  },
  {
    from: KARPENTER,
    words: ['drain', 'N', '--disable-eviction=true'],
    says: /to go past a PodDisruptionBudget, change the budget or delete the pod/,
  },
  {
    from: KURED,
    words: ['-n', 'kube-system', 'annotate', 'ds', 'kured', 'weave.works/kured-node-lock={"nodeID":"manual"}'],
    says: /kubectl itself has this command/,
  },
  { from: KURED_REBOOT, words: ['reboot'], says: /use "systemctl reboot" on the node: the agent holds it/ },
  { from: SYSTEMCTL, words: ['poweroff', '--force'], says: /use "systemctl poweroff" on the node/ },
  { from: SHUTDOWN, words: ['shutdown', '-h', '+5'], says: /use the command "shutdown" itself on the node/ },
  { from: SHUTDOWN, words: ['shutdown', '-c'], says: /use the command "shutdown" itself on the node/ },
];

describe('lines of runbooks for kubectl, oc, kured, systemctl and shutdown', () => {
  for (const { from, words, says } of LINES) {
    it(`nodemaint ${words.join(' ')} does nothing and says what to use: ${from}`, async () => {
      const recorded = recordTerminal('pipe');
      const typed = words.map((word) => word.replace(/(^|=)N$/, '$1n1').replace(/^M$/, 'n2'));
      assert.equal(await runCommandLine(typed, recorded.terminal), 2);
      assert.match(recorded.errors(), says);
      assert.equal(recorded.output(), '');
    });
  }
});

describe('the flags of kubectl', () => {
  for (const command of ['drain', 'cordon', 'uncordon']) {
    it(`nodemaint ${command} takes every flag of kubectl, or says what to use in its place`, async () => {
      for (const flag of OF_KUBECTL) {
        const said = await saidOf(command, flag);
        const isTaken = /^nodemaint: (?:cannot read the kubeconfig|--as-group needs --as)/.test(said);
        assert.ok(isTaken || /^nodemaint: unknown option '\S+': \w.{10,}\nSee: /.test(said), `${flag}: ${said}`);
      }
    });
  }
});
