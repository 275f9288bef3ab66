function manifest(name: string, stopSec: number, priorityClassName?: string): string {
  const priority = priorityClassName === undefined ? '' : `  priorityClassName: ${priorityClassName}\n`;
  return `# A sample static pod of "nodemaint demo".
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: kube-system
  annotations:
    demo.nodemaint/stop-seconds: "${stopSec}"
spec:
${priority}  terminationGracePeriodSeconds: 10
  containers:
    - name: ${name}
      image: example.invalid/${name}:1
`;
}

/** The sample manifests of the demo, by file name: pods of several tiers of the drain plan. */
export const DEMO_MANIFESTS: Readonly<Record<string, string>> = {
  'cache.yaml': manifest('cache', 2),
  'registry-mirror.yaml': manifest('registry-mirror', 1.5),
  'kube-vip.yaml': manifest('kube-vip', 2, 'system-cluster-critical'),
  'etcd.yaml': manifest('etcd', 2.5, 'system-node-critical'),
};
