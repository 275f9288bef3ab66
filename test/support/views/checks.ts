/** What the checks of a node and of a cluster read. */
import { effectiveKubelet } from '../../../src/decide/machine/kubelet-config.ts';
import type { ClusterFacts, Fact } from '../../../src/show/checks/cluster-checks.ts';
import { INSTALLED_RESOURCES } from '../../../src/show/checks/installed.ts';
import type { DoctorFacts } from '../../../src/show/checks/node-checks.ts';
import type { FleetNode } from '../../../src/show/fleet/node-state.ts';
import { AGENT } from './cluster.ts';
import { NOW } from './drain.ts';

export const WEEK_MS = 604_800_000;

/** A node on which every check is ok. */
export const WELL: DoctorFacts = {
  isBusAway: false,
  lock: { kind: 'unit', held: true, message: 'held' },
  delay: { effectiveMs: WEEK_MS, winner: { path: '/etc/systemd/logind.conf.d/zz-nodemaint.conf', value: '604800' } },
  otherLocks: [],
  unitPaths: {
    protectSystem: 'strict',
    writable: ['-/etc/kubernetes', '-/var/lib/kubelet'],
    needed: ['/etc/kubernetes', '/var/lib/nodemaint', '/run/nodemaint'],
  },
  distrusted: [],
  targetTimeoutsMs: { poweroff: WEEK_MS, reboot: WEEK_MS, halt: WEEK_MS, kexec: Infinity },
  startsAfter: ['kubelet.service', 'containerd.service', 'dbus.service', 'systemd-logind.service', 'kubepods.slice'],
  hasPodSlices: true,
  kubelet: effectiveKubelet(1, new Map(), {}),
  refusedKubelets: [],
  kubeletHome: { unit: 'kubelet.service', runtime: undefined },
  kubeletUnit: undefined,
  staticPods: { path: '/etc/kubernetes/manifests', isThere: true },
  storage: { directory: '/var/lib/nodemaint' },
  runtime: { version: 'containerd 1.6.20' },
  api: { kind: 'ok', server: 'https://10.0.0.1:6443', message: 'NodeMaintenances can be read' },
  serverIsLocal: false,
  carriers: [],
  member: { programs: [], etcd: undefined },
};

/** What could be read. */
export function known<T>(value: T): Fact<T> {
  return { kind: 'known', value };
}

/** A node in this state; one that is unguarded or exempt has no agent. */
export function nodeOf(name: string, state: FleetNode['state']): FleetNode {
  const hasAgent = state !== 'unguarded' && state !== 'exempt';
  return { name, state, reason: '', nodeStatus: 'Ready', ...(hasAgent ? { agent: AGENT } : {}) };
}

/** A cluster on which every check is ok. */
export const RIGHT: ClusterFacts = {
  now: NOW,
  version: '0.1.0',
  resources: known(INSTALLED_RESOURCES.map(({ crd }) => ({ crd, state: 'right', fields: [] }))),
  policies: known({ missing: [], changed: [], refusesPods: false }),
  rights: known({ missing: [], elsewhere: [], isReleaseOff: false }),
  controller: known({ state: 'alive', holder: 'c', version: '0.1.0' }),
  webhook: known({ isConfigured: true, caUntil: NOW + 86_400_000, endpoints: 2 }),
  nodes: known([nodeOf('a', 'guarded')]),
  leftOvers: known([]),
};
