/** What people, the kubelet and the agent itself leave in files: manifests, the kubelet's configuration, the journal. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { MAX_GRACE_SEC } from '../../../src/decide/pod.ts';
import { readKubelet } from '../../../src/host/kubelet/config.ts';
import { formatStep, parseJournal } from '../../../src/static-pods/journal/journal.ts';
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
const SIGNAL = new AbortController().signal;

function manifest(text: string): void {
  const parsed = parseManifest({ name: 'a.yaml', bytes: Buffer.from(text, 'utf8') }, 'node-1');
  assertFinite(parsed, 'manifest');
  if (parsed.kind === 'invalid' && !parsed.reason.startsWith('a.yaml: ')) throw new Error(parsed.reason);
  if (parsed.kind !== 'pod') return;
  if (parsed.graceSec < 1 || parsed.graceSec > MAX_GRACE_SEC) throw new Error(`grace period ${parsed.graceSec}`);
  if (!/^[a-z0-9.-]{1,253}$/.test(parsed.podName)) throw new Error(`pod name ${parsed.podName}`);
}

const STEP = {
  op: 'park',
  file: 'etcd.yaml',
  sha256: 'ab',
  maintenance: 'shutdown-n1-x',
  at: 1_780_000_000_000,
  bootId: 'boot',
  pod: {
    namespace: 'a',
    name: 'b',
    podName: 'b-n1',
    labels: { a: 'b' },
    priority: 1,
    priorityKnown: true,
    graceSec: 30,
  },
  origin: { path: '/etc/kubernetes/manifests/etcd.yaml', parkedPath: '/p', mode: 384, uid: 0, gid: 0 },
} as const;
/** A line with a checksum that is right, whatever it says. */
function withChecksum(text: string): string {
  return text
    .split('\n')
    .map((line) => `${createHash('sha256').update(line).digest('hex').slice(0, 16)} ${line}\n`)
    .join('');
}

async function journal(text: string): Promise<void> {
  const steps = await attempt(() => parseJournal(text, 'journal'));
  if (steps === undefined) return;
  assertFinite(steps, 'journal');
  const again = parseJournal(steps.map(formatStep).join(''), 'journal');
  if (!isDeepStrictEqual(again, steps)) throw new Error('reads otherwise what it wrote');
}

/** The targets that are files. */
export const FILE_TARGETS: readonly FuzzTarget[] = [
  textTarget('manifest-yaml', mutatedText(POD_YAML), manifest),
  textTarget('manifest-json', mutatedJson(POD), manifest),
  {
    name: 'kubelet-config',
    inputs: mutatedText(KUBELET_YAML),
    open: (folder) => ({
      run: async (input) => {
        const file = path.join(folder, 'kubelet.yaml');
        await writeFile(file, Buffer.from(textOf(input), 'utf8'));
        const flags = new Map([
          ['config', file],
          ['config-dir', path.join(folder, 'none')],
        ]);
        const kubelet = { pid: 1, flags, isK3s: false };
        assertFinite(await attempt(() => readKubelet(kubelet, SIGNAL)), 'kubelet');
      },
    }),
  },
  textTarget(
    'journal',
    mutatedText(formatStep(STEP) + formatStep({ op: 'restore', file: 'etcd.yaml', parked: STEP })),
    journal,
  ),
  textTarget('journal-steps', mutatedJson(STEP), (text) => journal(withChecksum(text))),
];
