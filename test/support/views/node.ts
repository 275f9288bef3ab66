/** What one node says of itself, for the views of the command line: the agent's status, the checks, the story of a shutdown. */
import type { AgentStatus } from '../../../src/agent/control/status.ts';
import type { Phase } from '../../../src/decide/shutdown/phase.ts';
import {
  begunStory,
  type StoryObservation,
  withObservation,
  withReturned,
  withTransition,
} from '../../../src/decide/story/story.ts';
import { type Timeline, timelineOf } from '../../../src/show/story/timeline.ts';
import type { Check } from '../../../src/show/checks/node-checks.ts';
import { NODE, NOW } from './drain.ts';

const SHUTDOWN = {
  maintenance: `shutdown-${NODE}`,
  mode: 'cluster',
  origin: 'logind',
  reason: 'reboot by uid 0',
  since: NOW - 200_000,
  bootId: 'b',
} as const;
const DRAINING: Phase = { kind: 'draining', ...SHUTDOWN };
const RELEASED: Phase = { kind: 'released', releasedAt: NOW - 60_000, ...SHUTDOWN };
const BUDGET =
  'Could not evict a pod due to failing eviction requests, number of retries: 7. Blocked by PodDisruptionBudget checkout, which needs 100 healthy pods and has 4.';

type Waiting = StoryObservation['waitingFor'][number];

function waitsOf(pods: number, budget: number): readonly Waiting[] {
  const blocked = Array.from({ length: budget }, (_, index) => ({
    wait: 'budget' as const,
    what: `shop/checkout-service-7d9f8b6c5d-${String(index).padStart(5, 'x')}`,
    on: 'imperative-eviction.k8s.io',
    message: BUDGET,
    since: NOW - 134_000,
  }));
  const ending = Array.from({ length: pods - budget - 1 }, (_, index) => ({
    wait: 'grace-period' as const,
    what: `shop/web-${String(index).padStart(3, '0')}`,
    on: 'kubelet',
    message: 'is terminating',
    since: NOW - 20_000,
    expectedAt: NOW + 10_000,
  }));
  const database = {
    wait: 'interceptor' as const,
    what: 'shop/orders-database-0',
    on: 'postgres-operator.example.com',
    message: 'Moving the primary to orders-database-1, 40% of 12 GiB copied',
    since: NOW - 90_000,
    expectedAt: NOW + 45_000,
  };
  return [...blocked, database, ...ending];
}

/** The agent while it drains its node, of which `pods` have not left. */
export function agentStatus(pods: number): AgentStatus {
  return {
    node: NODE,
    phase: DRAINING,
    summary: `waiting for ${pods} pods`,
    lock: {
      kind: 'delay',
      held: true,
      message: '',
      delay: { limitMs: 604_800_000, file: '/etc/systemd/logind.conf.d/zz-nodemaint.conf' },
      deadManMs: 180_000,
      others: ['unattended-upgrades (uid 0, process 812: Running unattended-upgrades during shutdown)'],
    },
    scheduled: null,
    cluster: { configured: true, server: 'https://10.0.0.1:6443', heardAt: NOW - 2_000 },
    maintenance: { name: SHUTDOWN.maintenance, message: 'Evacuating' },
    waitingFor: waitsOf(pods, Math.max(1, Math.floor(pods / 2))),
    inPlace: ['kube-vip.yaml', 'registry-cache.yaml'],
    parked: [],
    warnings: [
      'the kubelet has its own graceful shutdown, which ends pods early: run "nodemaint disable-kubelet-shutdown"',
    ],
    phaseSince: NOW - 200_000,
    startedAt: NOW - 9 * 86_400_000,
  };
}

/** The story of a reboot that a budget held up. */
export function shutdownLine(pods: number): Timeline {
  const waits = waitsOf(pods, 1);
  const [blocked, database] = waits;
  if (blocked === undefined || database === undefined) throw new Error('a scene has at least two pods');
  const tier = { podType: 'Default', podPriority: 1_000_000_000 };
  const at = (sec: number): number => SHUTDOWN.since + sec * 1000;
  let so = begunStory(NODE, SHUTDOWN);
  so = withObservation(so, { at: at(1), tier, waitingFor: waits });
  so = withObservation(so, { at: at(14), tier, waitingFor: [blocked, database] });
  so = withObservation(so, { at: at(42), tier, waitingFor: [blocked] });
  so = withObservation(so, { at: at(128), tier, waitingFor: [] });
  so = withTransition(so, { name: 'finish', from: DRAINING, to: RELEASED }, at(130));
  so = withReturned(so, ['kube-vip.yaml'], at(180));
  return timelineOf(so, NOW);
}

/** Checks with the longest texts that they have. */
export const CHECKS: readonly Check[] = [
  { name: 'lock', result: 'ok', message: 'the agent holds the shutdown lock', fix: '' },
  {
    name: 'lock delay',
    result: 'fail',
    message:
      'logind ends every lock after 30s: /usr/lib/systemd/logind.conf.d/unattended-upgrades-logind-maxdelay.conf (InhibitDelayMaxSec=30) wins over /etc/systemd/logind.conf.d/zz-nodemaint.conf',
    fix: 'remove that file, or give ours a later name; then: systemctl restart systemd-logind',
  },
  {
    name: 'kubelet shutdown',
    result: 'fail',
    message: 'the kubelet ends pods by itself after 30s of a shutdown (shutdownGracePeriod)',
    fix: 'nodemaint disable-kubelet-shutdown',
  },
];
