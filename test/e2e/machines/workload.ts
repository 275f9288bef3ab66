/** What runs on the machines: applications with budgets, one with volumes, the driver of these, and static pods. */
import type { PodType } from '../../../src/api/node-maintenance.ts';
import { type PodShape, podSpec } from '../../node/pods.ts';

/** The folder of a machine in whose file `log` its pods tell what happens to them. */
export const WITNESS = '/var/witness';
/** The driver of the volumes. */
export const DRIVER = 'test.csi.example.com';
/** The image of the controller: its Node.js runs the driver, from the sources. */
export const CONTROLLER_IMAGE = 'localhost/nodemaint:0.3.0';
const CHECKOUT = '/checkout';
const KUBELET = '/var/lib/kubelet';

/** The names by which pods tell, with what they are, in the order in which they leave. */
export const ORDER: readonly (readonly [PodType, readonly string[]])[] = [
  ['Default', ['web', 'db']],
  ['DaemonSet', ['logger']],
  ['DaemonSet', ['csi']],
  ['Static', ['low']],
  ['Static', ['high']],
];

/** The applications with a budget, and how many of their pods have to be there. */
export const BUDGETS: Readonly<Record<string, number>> = { web: 1, db: 1 };
export const REPLICAS = 2;

const SHAPE: PodShape = { stopSec: 2, witness: WITNESS };

/** The static pods of each machine, by the names of their manifests. */
export const STATIC_PODS: Readonly<Record<string, PodShape>> = {
  low: SHAPE,
  high: { ...SHAPE, priorityClassName: 'system-node-critical' },
};

interface PodSpec {
  readonly containers: readonly { readonly volumeMounts?: readonly object[] }[];
  readonly volumes?: readonly object[];
}

function workload(kind: string, name: string, spec: object, more: object): object {
  const labels = { app: name };
  const template = { metadata: { labels }, spec };
  const metadata = { name, namespace: 'default' };
  return { apiVersion: 'apps/v1', kind, metadata, spec: { selector: { matchLabels: labels }, template, ...more } };
}

function budget(name: string, spec: object): object {
  const selector = { matchLabels: { app: name } };
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default' },
    spec: { ...spec, selector },
  };
}

/** A StatefulSet each of whose pods has a volume of the driver. */
function database(): readonly object[] {
  const spec = podSpec('db', SHAPE) as PodSpec;
  const containers = spec.containers.map((each) => ({
    ...each,
    volumeMounts: [...(each.volumeMounts ?? []), { name: 'data', mountPath: '/data' }],
  }));
  const resources = { requests: { storage: '1Gi' } };
  const claim = { accessModes: ['ReadWriteOnce'], storageClassName: 'none', resources };
  const volumes = Array.from({ length: REPLICAS }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `pv-${index}` },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'none',
      claimRef: { namespace: 'default', name: `data-db-${index}` },
      csi: { driver: DRIVER, volumeHandle: `vol-${index}` },
    },
  }));
  return [
    { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: DRIVER }, spec: { attachRequired: true } },
    ...volumes,
    workload(
      'StatefulSet',
      'db',
      { ...spec, containers },
      { serviceName: 'db', replicas: REPLICAS, volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: claim }] },
    ),
    budget('db', { maxUnavailable: 1 }),
  ];
}

const EVERYTHING = [{ operator: 'Exists' }];

/** The driver, on every machine, as drivers are: a DaemonSet that registers with the kubelet. */
function driver(): object {
  const node = { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } };
  const paths = {
    checkout: CHECKOUT,
    registry: `${KUBELET}/plugins_registry`,
    plugin: `${KUBELET}/plugins/${DRIVER}`,
    pods: `${KUBELET}/pods`,
    witness: WITNESS,
  };
  const container = {
    name: 'main',
    image: CONTROLLER_IMAGE,
    imagePullPolicy: 'Never',
    command: ['/usr/bin/node', '--disable-warning=ExperimentalWarning', `${CHECKOUT}/test/e2e/machines/csi-driver.ts`],
    env: [node, { name: 'DRIVER', value: DRIVER }, { name: 'WITNESS', value: WITNESS }],
    securityContext: { runAsUser: 0 },
    volumeMounts: Object.entries(paths).map(([name, mountPath]) => ({ name, mountPath })),
  };
  const volumes = Object.entries(paths).map(([name, path]) => ({ name, hostPath: { path } }));
  const spec = { hostNetwork: true, containers: [container], volumes, tolerations: EVERYTHING };
  return workload('DaemonSet', 'csi', spec, {});
}

/** Everything but the static pods and what attaches. */
export function workloads(): readonly object[] {
  return [
    workload('Deployment', 'web', podSpec('web', SHAPE), { replicas: REPLICAS }),
    budget('web', { minAvailable: BUDGETS['web'] }),
    ...database(),
    workload('DaemonSet', 'logger', { ...podSpec('logger', SHAPE), tolerations: EVERYTHING }, {}),
    driver(),
  ];
}
