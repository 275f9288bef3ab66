/** What a seed decides of a fleet before its history begins: its nodes, what runs on them, and who may refuse. */
import type { Random } from '../../chaos/random.ts';
import { GUARDED, type Guarded } from './refusals.ts';

/** What a pod of a workload is, beside an application. */
type Role = 'application' | 'controller' | 'webhook';

/** Pods that somebody makes anew when they are gone. */
export interface Workload {
  readonly name: string;
  readonly role: Role;
  readonly namespace: string;
  readonly replicas: number;
  /** Whether a pod is made anew only when the one of its name is gone. */
  readonly isStateful: boolean;
  readonly graceSec: number;
  /** How long a pod takes to end, in milliseconds; one that ignores the signal takes its whole grace period. */
  readonly endingMs: number;
  readonly priorityClassName: string;
  /** How many of its pods a budget keeps; without one, none does. */
  readonly minAvailable?: number;
  /** The number of the only node on which its pods may run. */
  readonly pinnedTo?: number;
  readonly hasInterceptor: boolean;
}

/** How a fleet is made. */
export interface Settings {
  readonly nodes: number;
  /** The first so many nodes are the control plane, with etcd and kube-apiserver; with none it is somewhere else. */
  readonly members: number;
  /** Whether kubelet and container runtime are one unit, as in k3s, which nobody can stop alone. */
  readonly isOneUnit: boolean;
  /** Whether each machine reaches the API server over a static pod of its own: kube-apiserver, or a proxy. */
  readonly hasOwnWay: boolean;
  readonly onBoot: 'complete' | 'wait';
  readonly workloads: readonly Workload[];
  /** What the webhook of somebody else is asked about; where it cannot be called, that is refused. */
  readonly guarded?: Guarded;
  readonly interceptor: 'silent' | 'works' | 'beats';
}

const APPLICATIONS = ['shop', 'bank'] as const;
const GUARDS = Object.keys(GUARDED) as [Guarded, ...Guarded[]];

function drawApplication(random: Random, name: string, nodes: number): Workload {
  const replicas = 1 + random.whole(3);
  const graceSec = random.pick([5, 30, 600]);
  const hasBudget = random.whole(3) > 0;
  const isPinned = random.whole(4) === 0;
  return {
    name,
    role: 'application',
    namespace: 'apps',
    replicas,
    isStateful: random.whole(2) === 0,
    graceSec,
    endingMs: random.pick([200, 3_000, Infinity]),
    priorityClassName: random.pick(['', '', 'chaos-highest']),
    ...(hasBudget ? { minAvailable: Math.max(1, replicas - random.whole(2)) } : {}),
    ...(isPinned ? { pinnedTo: random.whole(nodes) } : {}),
    hasInterceptor: random.whole(4) === 0,
  };
}

function drawWebhook(random: Random, nodes: number): Workload {
  const isPinned = random.whole(2) === 0;
  return {
    name: 'guard',
    role: 'webhook',
    namespace: 'guard',
    replicas: 1 + random.whole(2),
    isStateful: false,
    graceSec: 5,
    endingMs: 200,
    priorityClassName: '',
    ...(isPinned ? { pinnedTo: random.whole(nodes) } : {}),
    hasInterceptor: false,
  };
}

/** Draws the fleet of the history of a seed. */
export function drawSettings(random: Random, seed: number): Settings {
  const nodes = 1 + random.whole(4);
  const members = nodes >= 3 && random.whole(2) === 0 ? 3 : random.whole(3) === 0 ? 1 : 0;
  const hasWebhook = random.whole(3) === 0;
  const controller: Workload = {
    name: 'nodemaint-controller',
    role: 'controller',
    namespace: 'nodemaint-system',
    replicas: random.pick([0, 1, 1, 2]),
    isStateful: false,
    graceSec: 30,
    endingMs: 200,
    priorityClassName: 'system-cluster-critical',
    hasInterceptor: false,
  };
  return {
    nodes,
    members,
    hasOwnWay: seed % 5 === 0,
    isOneUnit: random.whole(4) === 0,
    onBoot: random.whole(4) === 0 ? 'wait' : 'complete',
    workloads: [
      controller,
      ...APPLICATIONS.slice(0, 1 + random.whole(2)).map((name) => drawApplication(random, name, nodes)),
      ...(hasWebhook ? [drawWebhook(random, nodes)] : []),
    ],
    ...(hasWebhook ? { guarded: random.pick(GUARDS) } : {}),
    interceptor: random.pick(['silent', 'works', 'beats']),
  };
}
