/** One machine and one drain in many states, and what every view claims of them: all are made from the same fields. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { statusLine } from '../../../../src/agent/control/systemd-status.ts';
import { buildStatus, presenceFactsOf, type StatusFacts } from '../../../../src/agent/status.ts';
import { createLockReconciler } from '../../../../src/agent/shutdown/inhibitor-lock.ts';
import { AGENT_STATUS_ANNOTATION, CORDONED_ANNOTATION, NODE_NOTE_ANNOTATION } from '../../../../src/api/names.ts';
import type { NodeMaintenance, NodeStatus } from '../../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { createDrainChanges } from '../../../../src/cli/follow/maintenance/change-lines.ts';
import { drainLines } from '../../../../src/cli/follow/maintenance/drain-text.ts';
import { formatStatus } from '../../../../src/cli/status/agent-table.ts';
import { overviewTable } from '../../../../src/cli/status/overview.ts';
import { formatDocument } from '../../../../src/cli/terminal/document.ts';
import { nodeNote } from '../../../../src/decide/maintenance/node-note.ts';
import { presenceText } from '../../../../src/decide/presence/presence.ts';
import { phaseEventOf } from '../../../../src/decide/shutdown/events.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import { begunStory } from '../../../../src/decide/story/story.ts';
import { rfc3339 } from '../../../../src/decide/time.ts';
import { formatReport } from '../../../../src/cli/report/text.ts';
import { examineCluster } from '../../../../src/show/checks/cluster-checks.ts';
import { examineNode } from '../../../../src/show/checks/node-checks.ts';
import { countMaintenances } from '../../../../src/show/counts/maintenances.ts';
import { fleetNode } from '../../../../src/show/fleet/node-state.ts';
import { drainView } from '../../../../src/show/progress/drain-progress.ts';
import { createNoLock } from '../../../../src/host/systemd/inhibitor-unit.ts';
import { timelineOf } from '../../../../src/show/story/timeline.ts';
import { SHUTDOWN } from '../../../support/agent/phase-facts.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { known, RIGHT, WELL } from '../../../support/views/checks.ts';
import { AGENT } from '../../../support/views/cluster.ts';
import { NOW } from '../../../support/views/drain.ts';

const SEC = 1_000;
const own = { ...SHUTDOWN, since: NOW - 200 * SEC };
const WATCHING: Phase = { kind: 'watching' };
const draining = (more: object = {}): Phase => ({ kind: 'draining', ...own, ...more });
const until = (sec: number): object => ({ deadline: { at: NOW + sec * SEC, since: own.since, of: 'trigger' } });
const at = (sec: number): string => rfc3339(NOW + sec * SEC);

/** The lock as its keeper tells it. */
async function lockOf(kind: 'unit' | 'none', isGranted: boolean, phase: Phase): Promise<StatusFacts['lock']> {
  const lock = { ...createNoLock(), acquire: () => Promise.resolve(isGranted) };
  const keeper = createLockReconciler({ kind, lock, host: undefined, clock: { monotonic: () => 0 }, log: SILENT_LOG });
  await keeper.reconcile(phase, new AbortController().signal);
  return keeper.status(phase);
}

interface Machine {
  readonly phase: Phase;
  readonly lock?: readonly ['unit' | 'none', boolean];
  readonly more?: Partial<StatusFacts>;
}

/** What each view says of a machine. */
async function machineViews({ phase, lock: [kind, isGranted] = ['unit', true], more = {} }: Machine): Promise<Claims> {
  const lock = await lockOf(kind, isGranted, phase);
  const unknown = { lastPass: undefined, storageProblem: undefined, cluster: undefined, controller: undefined };
  const base = { nodeName: 'n', startedAt: NOW - 60 * SEC, scheduled: null, otherLocks: [], warnings: [] };
  const facts: StatusFacts = { ...base, ...unknown, phase, lock, ...more };
  const status = buildStatus(facts);
  const get = (): NodeMaintenance | undefined => facts.cluster?.maintenances.get('');
  const { lastShutdown: last } = facts;
  const said = presenceFactsOf({ phase, ...(last === undefined ? {} : { last }) }, lock, { get });
  const annotations = { [AGENT_STATUS_ANNOTATION]: presenceText({ ...AGENT, ...said }, rfc3339(NOW)) };
  const node = fleetNode({ metadata: { name: 'n', annotations }, nodeStatus: 'Ready' }, '', NOW);
  const check = examineCluster({ ...RIGHT, nodes: known([node]) }).find(({ name }) => name === 'agents');
  const [doctor] = examineNode({ ...WELL, lock });
  const begun = phase.kind === 'draining' ? phaseEventOf('n', { name: 'begin', from: WATCHING, to: phase }) : undefined;
  const report = phase.kind === 'draining' ? formatReport(timelineOf(begunStory('n', phase), NOW), 200) : '';
  return {
    text: formatStatus(status, NOW),
    json: formatDocument('AgentStatus', status, 'json'),
    systemd: statusLine(status),
    doctor: `${doctor?.result}: ${doctor?.message}`,
    nodes: `${node.state}: ${node.reason}`,
    check: `${check?.result}: ${check?.message}`,
    event: begun?.message ?? '',
    report,
  };
}

/** What a view says, by its name. */
type Claims = Readonly<Record<string, string>>;
/** What each view must say, as a regular expression; `never` is what none of them may. */
const CLAIMS = parse(readFileSync(path.join(import.meta.dirname, 'claims.yaml'), 'utf8')) as Readonly<
  Record<'machine' | 'drain', Readonly<Record<string, Claims>>>
>;

function assertClaims(views: Claims, { never = '', ...says }: Claims = {}): void {
  assert.ok(never !== '' && Object.keys(says).length > 0, 'claims.yaml has them');
  for (const [view, expected] of Object.entries(says)) assert.match(views[view] ?? '', new RegExp(expected, 'm'), view);
  for (const [view, text] of Object.entries(views)) assert.doesNotMatch(text, new RegExp(never, 'm'), view);
}

/** A machine whose NodeMaintenance waits for its turn. */
function turn(): StatusFacts['cluster'] {
  const condition = { type: 'Drained', status: 'False', reason: 'WaitingForTurn', message: 'n2 goes first' } as const;
  const maintenance = { ...drainOf('m', ['n']), status: { conditions: [{ ...condition, lastTransitionTime: '' }] } };
  const maintenances = { get: () => maintenance, heardAt: () => NOW, drains: () => [] };
  return { access: { server: new URL('https://s') }, client: {}, maintenances, requests: { list: () => [] } };
}

/** The machines, by what is said of them in claims.yaml. */
const MACHINES: Readonly<Record<string, Machine>> = {
  watches: { phase: WATCHING },
  'is held by nobody': { phase: WATCHING, lock: ['none', true] },
  'was refused the lock': { phase: WATCHING, lock: ['unit', false] },
  'is drained': { phase: draining() },
  'waits for its turn': { phase: draining(), more: { cluster: turn() } },
  'has a deadline': { phase: draining(until(54)) },
  'is past its deadline': { phase: draining(until(-20)) },
  'is drained offline': { phase: draining({ mode: 'offline' }) },
  'has no controller': { phase: draining(), more: { controller: { kind: 'dead', silentMs: 20 * SEC } } },
  'is released': { phase: { ...own, kind: 'released', releasedAt: NOW - 5 * SEC } },
  'was let go': {
    phase: { ...own, kind: 'released', releasedAt: NOW, forced: 'root wanted it' },
    more: { lastShutdown: { result: 'forced', at: NOW } },
  },
  'is back': { phase: { ...own, kind: 'recovering', cause: 'boot' }, more: { changedAt: NOW - 11 * SEC } },
};

describe('every view of a machine', () => {
  for (const [what, machine] of Object.entries(MACHINES)) {
    it(`the views of a machine that ${what} claim the same`, async () => {
      assertClaims(await machineViews(machine), CLAIMS.machine[what]);
    });
  }
});

const TARGETS = [{ podType: 'Default', podPriority: 1_000_000_000 }] as const;
const BUDGET = { reason: 'PodDisruptionBudget', message: 'p needs 1.', since: at(-30) } as const;

interface Drain {
  readonly stage?: 'Drain' | 'Complete';
  readonly ageSec?: number;
  readonly deadlineSec?: number;
  /** The status of each node; undefined where no controller has written one. */
  readonly nodes?: readonly Partial<NodeStatus>[];
  /** Of the condition Drained. */
  readonly reason?: string;
  readonly isEmpty?: boolean;
  readonly hasAgent?: boolean;
}

/** What each view says of a drain of the nodes n, and o where there is a second one. */
function drainViews({ stage = 'Drain', ageSec = 180, deadlineSec, nodes, isEmpty = false, ...more }: Drain): Claims {
  const names = ['n', 'o'].slice(0, nodes?.length ?? 1);
  const deadline = deadlineSec === undefined ? {} : { 'nodemaintenance.x-k8s.io/deadline': at(deadlineSec) };
  const { reason = 'Draining' } = more;
  const condition = { type: 'Drained', status: reason === 'Drained' ? 'True' : 'False', message: '' } as const;
  const status = nodes && {
    stageStatuses: [{ name: stage, startTimestamp: at(-ageSec) }],
    nodeStatuses: nodes.map((node, index) => ({ nodeRef: { name: names[index] ?? '' }, ...node })),
    conditions: [{ ...condition, reason, lastTransitionTime: at(-ageSec) }],
  };
  const base = drainOf('m', names, { stage });
  const metadata = { name: 'm', uid: 'u', creationTimestamp: at(-ageSec), annotations: deadline };
  const maintenance: NodeMaintenance = { ...base, metadata, ...(status === undefined ? {} : { status }) };
  const pods = names.flatMap((nodeName): Pod[] =>
    ['web', 'late'].map((name) => ({
      metadata: { name: `${name}-${nodeName}`, namespace: 'default', uid: `${name}-${nodeName}` },
      spec: { nodeName, priority: name === 'late' ? 2_000_000_000 : 0 },
    })),
  );
  const facts = { maintenance, nodes: names, pods: isEmpty ? [] : pods, requestOf: () => undefined, seen: new Map() };
  const view = drainView(facts, NOW);
  const note = nodeNote([maintenance], { name: 'n' });
  const agent = more.hasAgent === false ? {} : { [AGENT_STATUS_ANNOTATION]: presenceText(AGENT, rfc3339(NOW)) };
  const marks = {
    ...agent,
    [CORDONED_ANNOTATION]: 'm',
    ...(note === undefined ? {} : { [NODE_NOTE_ANNOTATION]: note }),
  };
  const node = fleetNode({ metadata: { name: 'n', annotations: marks }, nodeStatus: 'Ready' }, '', NOW);
  return {
    status: drainLines(view, 200, NOW)
      .map(({ text }) => text)
      .join('\n'),
    log: createDrainChanges().next(view).join('\n'),
    json: formatDocument('DrainStatus', view, 'json'),
    overview: overviewTable([maintenance], [], { columns: 200, now: NOW }),
    nodes: `${node.state}: ${node.reason}`,
    metrics: JSON.stringify([...countMaintenances([maintenance], NOW).drains]),
  };
}

const MOVING = { drainTargets: TARGETS, drainPlanPosition: 1, drainMessage: 'Evacuating', expectedFinishTime: at(40) };
const BLOCKED = { ...MOVING, podsBlocking: [{ namespace: 'default', name: 'web-n', ...BUDGET }] };
/** The drains, by what is said of them in claims.yaml. */
const DRAINS: Readonly<Record<string, Drain>> = {
  'goes on': { nodes: [MOVING] },
  'is blocked by a budget': { nodes: [BLOCKED] },
  'waits for another node': { nodes: [BLOCKED, { ...MOVING, drainMessage: 'Waiting for node n.' }] },
  'no controller has taken up': { ageSec: 25 },
  'was just asked for': { ageSec: 5 },
  'has a deadline': { nodes: [MOVING], deadlineSec: 54 },
  'is past its deadline': { nodes: [MOVING], deadlineSec: -20 },
  'waits for its place': { nodes: [{ drainMessage: 'Waiting for others.' }], reason: 'Waiting' },
  'is over': { nodes: [{ ...MOVING, podsAtStart: 2 }], isEmpty: true, reason: 'Drained' },
  'takes a node without an agent': { nodes: [MOVING], hasAgent: false },
  'is complete': { nodes: [{}], stage: 'Complete', deadlineSec: -20 },
};

describe('every view of a drain', () => {
  for (const [what, drain] of Object.entries(DRAINS)) {
    it(`the views of a drain that ${what} claim the same`, () => {
      assertClaims(drainViews(drain), CLAIMS.drain[what]);
    });
  }
});
