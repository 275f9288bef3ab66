/** What people and programs leave in files: manifests, configurations, kubeconfigs, plans. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseDrainPlan } from '../../../src/cli/maintenance/plan-file.ts';
import { parseAgentConfig } from '../../support/agent/config.ts';
import { isFullyQualified } from '../../../src/decide/eviction/interceptors.ts';
import { MAX_GRACE_SEC } from '../../../src/decide/pod.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { readKubelet } from '../../../src/host/kubelet/config.ts';
import { triggerFileSource } from '../../../src/cloud/trigger-file.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { parseManifest } from '../../../src/static-pods/manifest/manifest.ts';
import { mutatedJson, mutatedText } from '../mutate.ts';
import { assertFinite, attempt, type FuzzTarget, textTarget, textOf } from '../target.ts';

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'etcd', namespace: 'kube-system', labels: { component: 'etcd', tier: 'control-plane' } },
  spec: {
    priority: 2_000_001_000,
    priorityClassName: 'system-node-critical',
    terminationGracePeriodSeconds: 30,
    containers: [{ name: 'etcd', command: ['etcd', '--data-dir=/var/lib/etcd'] }],
  },
};
const POD_YAML = `apiVersion: v1
kind: Pod
metadata: {name: web, labels: &l {app: "web", 'tier': x}}
spec:
  terminationGracePeriodSeconds: 0o17
  priority: 1_000
  containers:
  - name: c # comment
    args: ["a", |
      text
      ]
---
kind: Other
`;

const KUBELET_YAML = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
staticPodPath: /etc/kubernetes/manifests
fileCheckFrequency: 20s
healthzPort: 10248
shutdownGracePeriod: 30s
shutdownGracePeriodByPodPriority:
- {priority: 100000, shutdownGracePeriodSeconds: 10}
`;
const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: YQ==}}]
users: [{name: u, user: {token: abc}}]
`;
const CONFIG = `apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1
kind: AgentConfiguration
nodeName: n1
maxHoldSec: 3600
drainPlan: [{podPriority: 1000, podType: Default}]
`;
const PLAN = `drainPlan:
- podPriority: 1000
  podType: Default
  podSelector: {matchLabels: {app: a}}
- {podPriority: 2147483647, podType: Static}
`;

const SIGNAL = new AbortController().signal;

function manifest(text: string): void {
  const parsed = parseManifest({ name: 'a.yaml', bytes: Buffer.from(text, 'utf8') }, 'node-1');
  assertFinite(parsed, 'manifest');
  if (parsed.kind !== 'pod') return;
  if (parsed.graceSec < 1 || parsed.graceSec > MAX_GRACE_SEC) throw new Error(`grace period ${parsed.graceSec}`);
  if (!/^[a-z0-9.-]{1,253}$/.test(parsed.podName)) throw new Error(`pod name ${parsed.podName}`);
}

/** A target that is read from a file which the input is written into. */
function fileTarget(
  name: string,
  file: string,
  inputs: FuzzTarget['inputs'],
  read: (file: string, folder: string) => Promise<unknown>,
): FuzzTarget {
  return {
    name,
    inputs,
    open: (folder) => ({
      run: async (input) => {
        await writeFile(path.join(folder, file), Buffer.from(textOf(input), 'utf8'));
        assertFinite(await attempt(() => read(path.join(folder, file), folder)), name);
      },
    }),
  };
}

/** The targets that are files of others. */
export const FILE_TARGETS: readonly FuzzTarget[] = [
  textTarget('manifest-yaml', mutatedText(POD_YAML), manifest),
  textTarget('manifest-json', mutatedJson(POD), manifest),
  textTarget('agent-config', mutatedText(CONFIG), async (text) => {
    assertFinite(await attempt(() => parseAgentConfig(text, 'agent.yaml')), 'configuration');
  }),
  textTarget(
    'plan-file',
    mutatedText(PLAN, KUBELET_YAML, JSON.stringify([{ podPriority: 1, podType: 'Default' }])),
    async (text) => {
      for (const entry of (await attempt(() => parseDrainPlan(text, 'plan.yaml'))) ?? []) {
        if (!Number.isSafeInteger(entry.podPriority)) throw new Error(`priority ${entry.podPriority}`);
      }
    },
  ),
  textTarget('interceptor-name', mutatedText('deployment.apps.k8s.io', 'a.example.com'), (text) => {
    isFullyQualified(text);
  }),
  fileTarget('kubelet-config', 'kubelet.yaml', mutatedText(KUBELET_YAML), async (file, folder) => {
    const flags = new Map([
      ['config', file],
      ['config-dir', path.join(folder, 'none')],
    ]);
    return await readKubelet({ pid: 1, flags, isK3s: false }, { read: new Map() }, SIGNAL);
  }),
  fileTarget('kubeconfig', 'kubeconfig', mutatedText(KUBECONFIG), async (file) => {
    await loadClusterAccess(file);
  }),
  fileTarget('trigger-file', 'trigger', mutatedText('maintenance of the rack\n', ''), async (file) => {
    const ending = new AbortController();
    const notices = await triggerFileSource(file, createSystemClock(), ending.signal).read(SIGNAL);
    ending.abort();
    for (const { reason } of notices) if (/\p{Cc}/u.test(reason) || reason.length > 1024) throw new Error(reason);
    return notices;
  }),
];
