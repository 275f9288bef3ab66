/** A cluster as the fleet view and the preview show it. */
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod } from '../../../src/api/pod.ts';
import type { FleetNode } from '../../../src/show/fleet/node-state.ts';
import { rfc3339 } from '../../../src/decide/time.ts';
import { type DrainPreview, previewDrain } from '../../../src/show/preview/drain-preview.ts';
import { selectorOfNodes } from '../../../src/decide/maintenance/new-maintenance.ts';
import { presenceAt } from '../agent/presence.ts';
import { drainScene, NODE, NOW } from './drain.ts';

/** What an agent says of itself where all is well. */
export const AGENT = {
  ...presenceAt(rfc3339(NOW - 60_000), { lockSince: rfc3339(NOW - 40 * 86_400_000), config: '3f9a0c41' }),
  at: rfc3339(NOW - 600_000),
  everySec: 3_600,
};

/** Nodes of each state. */
export const FLEET: readonly FleetNode[] = [
  { name: 'worker-1', state: 'guarded', reason: '', nodeStatus: 'Ready', agent: AGENT },
  {
    name: 'worker-2',
    state: 'guarded',
    reason: 'the check warns: kubelet unit; "nodemaint doctor" on the node says why',
    nodeStatus: 'Ready',
    agent: { ...AGENT, doctor: 'warn', checks: ['kubelet unit'] },
  },
  {
    name: 'worker-3',
    state: 'going-down',
    reason: 'nodemaintenance/kernel-update-worker-3, Drain: kernel 6.12.58 for CVE-2026-12345',
    nodeStatus: 'Ready,SchedulingDisabled',
    agent: { ...AGENT, phase: 'draining' },
  },
  { name: 'worker-4', state: 'outdated', reason: '0.0.9; the cluster has 0.1.0', nodeStatus: 'Ready', agent: AGENT },
  {
    name: 'worker-5',
    state: 'unguarded',
    reason: 'its agent last reported 2h3m ago, although the node is Ready',
    nodeStatus: 'Ready',
    agent: AGENT,
  },
  {
    name: 'worker-6',
    state: 'unguarded',
    reason: 'the checks fail: lock delay, kubelet shutdown; "nodemaint doctor" on the node says why',
    nodeStatus: 'Ready',
    agent: {
      ...AGENT,
      doctor: 'fail',
      checks: ['lock delay', 'kubelet shutdown'],
      last: { result: 'forced', at: rfc3339(NOW - 3 * 86_400_000) },
    },
  },
  { name: 'worker-7', state: 'unguarded', reason: 'no agent has reported', nodeStatus: 'NotReady' },
  { name: 'windows-1', state: 'exempt', reason: 'no agent runs on windows', nodeStatus: 'Ready' },
];

/** The same with names as clouds give them. */
export const CLOUD_FLEET: readonly FleetNode[] = FLEET.map((node, index) => ({
  ...node,
  name: NODE.replace('45', String(40 + index)),
}));

function nodeOf(name: string): Node {
  return { metadata: { name, labels: { 'kubernetes.io/hostname': name } } };
}

/** Maintenances of one node, of several, and of none. */
export const MAINTENANCES: { readonly maintenances: readonly NodeMaintenance[]; readonly nodes: readonly Node[] } = {
  nodes: CLOUD_FLEET.map(({ name }) => nodeOf(name)),
  maintenances: [
    ['kernel-update-zone-a', CLOUD_FLEET.map(({ name }) => name)] as const,
    ['disk-swap', ['none']] as const,
  ].map(([name, nodes]) => ({
    metadata: { name, creationTimestamp: rfc3339(NOW - 12 * 86_400_000) },
    spec: { stage: 'Drain', nodeSelector: selectorOfNodes(nodes), reason: 'kernel 6.12.58 for CVE-2026-12345' },
    status: {
      summary: { podsPendingEvacuation: 120, podsEvacuating: 12 },
      conditions: [
        {
          type: 'Drained',
          status: 'False',
          reason: 'Draining',
          message: '132 pods of 6 nodes have not left',
          lastTransitionTime: rfc3339(NOW),
        },
      ],
    },
  })) as unknown as readonly NodeMaintenance[],
};

/** What a drain of the node would do, with `count` pods on it. */
export function previewScene(count: number): DrainPreview {
  const pods: readonly Pod[] = drainScene(count).facts.pods.map(({ metadata, ...pod }) => ({
    ...pod,
    metadata: { ...metadata, labels: { app: metadata.name.startsWith('checkout') ? 'checkout' : 'other' } },
  }));
  const budget = {
    metadata: { name: 'checkout', namespace: 'shop' },
    spec: { selector: { matchLabels: { app: 'checkout' } } },
    status: { disruptionsAllowed: 0 },
  };
  const nothing = { maintenances: [], daemonSets: [], isGateInstalled: true, plan: [] };
  return previewDrain({ node: nodeOf(NODE), pods, budgets: [budget], ...nothing });
}
