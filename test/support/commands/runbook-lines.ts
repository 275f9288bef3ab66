/** Lines of runbooks for kubectl, oc, kured, systemctl and shutdown that the command line refuses with what to use, and where they were found. */

/** A line of a runbook without the name of its program, which nodemaint refuses with what to use; N and M stand for nodes. */
export interface RefusedLine {
  /** Where it was found. */
  readonly from: string;
  readonly words: readonly string[];
  readonly says: RegExp;
}

const KUBECTL_DRAIN = 'https://kubernetes.io/docs/reference/kubectl/generated/kubectl_drain';
const KUBEADM = 'https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/upgrading-linux-nodes/';
export const OPENSHIFT = 'https://docs.openshift.com/container-platform/4.16/nodes/nodes/nodes-nodes-working.html';
const OPENSHIFT_OS =
  'https://miminar.fedorapeople.org/_preview/openshift-enterprise/registry-redeploy/upgrading/os_upgrades.html';
const GKE = 'https://alanzhan.dev/post/2022-07-10-kubernetes-cordon-drain';
const RKE = 'https://zaggash.github.io/rancherkb-fuzz/kbs/000020031';
const HARVESTER = 'https://docs.harvesterhci.io/v1.3/host/';
const PRIMER = 'https://grokdatum.github.io/grokdevops-wiki/library/topics/node-maintenance/primer';
const KUBECTL_TESTS = 'https://github.com/kubernetes/kubernetes/blob/master/test/cmd/node-management.sh';
const EKS =
  'https://github.com/awsdocs/amazon-eks-user-guide/blob/007269473a9d87119c4dd4b489dfefa6e713bcf3/doc_source/migrate-stack.md';
const KARPENTER =
  'https://github.com/kubernetes-sigs/karpenter/blob/e18ab8d684348f83ec7670a3214b0b24b5f6c53f/designs/nodeclaim-termination-grace-period.md';
const KURED = 'https://kured.dev/docs/operation/';
const KURED_REBOOT = 'https://github.com/weaveworks/kured';
// The text of this page was read in a copy of the manual.
const SYSTEMCTL = 'https://www.freedesktop.org/software/systemd/man/latest/systemctl.html';
const SHUTDOWN = 'https://www.rocky8manpages.com/shutdown.8.gz.html';

const DAEMON_SETS = /'--ignore-daemonsets(?:=true)?': DaemonSet pods leave too, .* use --keep daemonsets/;
const FORCE = /'--force(?:=true)?': to delete pods without a controller, .* use --delete-unmanaged;/;

/** They end with 2, and nothing is done. */
export const REFUSED_LINES: readonly RefusedLine[] = [
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
    from: EKS,
    words: ['drain', 'N', '--ignore-daemonsets', '--delete-local-data'],
    says: /'--ignore-daemonsets'.*\n.*'--delete-local-data': use --delete-emptydir-data of drain/,
  },
  {
    from: KARPENTER,
    words: ['drain', 'N', '--grace-period=0', '--disable-eviction=true'],
    says: /each pod has its own grace period.*\n.*for one pod: nodemaint evict POD --in-spite-of-budget/,
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
