/** The fleet view: what a Node object says of its agent, as one state of six with a reason. */
import type { ListedNode } from '../../api/pod.ts';
import {
  AGENT_STATUS_ANNOTATION,
  CORDONED_ANNOTATION,
  NODE_NOTE_ANNOTATION,
  WITHOUT_AGENT_LABEL,
} from '../../api/names.ts';
import { deadlineOf } from '../../decide/deadline/maintenance.ts';
import { formatSpan } from '../../decide/duration.ts';
import { readNodeNote } from '../../decide/maintenance/node-note.ts';
import { deadlineAt, timeOf } from '../../decide/time.ts';
import { overdueMs, readPresence, type WrittenPresence } from '../../decide/presence/presence.ts';

/**
 * Whether two versions are of one build, such as 0.1.0+2c3e88c0b1aa. One that does not say its commit, as the sources and older
 * programs do not, may be any build of its version.
 */
export function isSameBuild(a: string, b: string): boolean {
  const [first = '', firstCommit] = a.split('+');
  const [second = '', secondCommit] = b.split('+');
  const differs = firstCommit !== undefined && secondCommit !== undefined && firstCommit !== secondCommit;
  return first === second && !differs;
}

/** All states of a node; `exempt` is one that has no agent and is not to have one. */
export const FLEET_STATES = ['guarded', 'unguarded', 'outdated', 'going-down', 'back', 'exempt'] as const;

export type FleetState = (typeof FLEET_STATES)[number];

/** A node of the fleet view. */
export interface FleetNode {
  readonly name: string;
  readonly state: FleetState;
  /** '' where there is nothing to say. */
  readonly reason: string;
  readonly nodeStatus: string;
  /** What the agent said last; absent where none has, or nothing that can be read. */
  readonly agent?: WrittenPresence;
  /** The maintenance that cordoned the node. */
  readonly maintenance?: string;
}

/** An agent runs its checks a minute after its start, and says what they found. */
const UNCHECKED_MS = 10 * 60_000;

type Judgement = Pick<FleetNode, 'state' | 'reason'>;

/** Why nothing would hold a shutdown of the node; undefined where its agent does. */
function unguardedReason(agent: WrittenPresence, isReady: boolean, now: number): string | undefined {
  if (agent.phase === 'stopped') return `its agent was stopped at ${agent.at}`;
  const overdue = overdueMs(agent, now);
  if (overdue !== undefined) {
    const heard = `its agent last reported ${formatSpan(overdue)} ago`;
    return isReady ? `${heard}, although the node is Ready` : `${heard}, and the node is not Ready`;
  }
  if (agent.lock === 'missing') return `the shutdown lock is not held: ${agent.reason}`;
  if (agent.lock === 'none') return 'its agent is configured to hold no shutdown lock';
  return agent.doctor === 'fail' ? checkReason('fails', agent.checks) : undefined;
}

/** That a check fails or warns, with the names of the checks where the agent says them. */
function checkReason(what: 'fails' | 'warns', checks: readonly string[]): string {
  const many = checks.length > 1 ? `checks ${what === 'fails' ? 'fail' : 'warn'}` : `check ${what}`;
  if (checks.length === 0) return `a check ${what}: run "nodemaint doctor" on the node`;
  return `the ${many}: ${checks.join(', ')}; "nodemaint doctor" on the node says why`;
}

/** That an agent that has run for a while does not know what its checks say; '' where it does, or has just begun. */
function uncheckedReason({ doctor, at }: WrittenPresence, now: number): string {
  const knownMs = now - (timeOf(at) ?? now);
  if (doctor !== 'unknown' || knownMs < UNCHECKED_MS) return '';
  return `its checks could not be run for ${formatSpan(knownMs)}: run "nodemaint doctor" on the node`;
}

/** Which maintenance has cordoned the node: its name, its stage and what people said, as far as the controller has noted it; undefined for none. */
function maintenanceReason({ metadata }: ListedNode, now: number): string | undefined {
  const name = metadata.annotations?.[CORDONED_ANNOTATION];
  if (name === undefined) return undefined;
  const note = readNodeNote(metadata.annotations?.[NODE_NOTE_ANNOTATION], metadata.name);
  const noted = note.kind === 'known' ? note.maintenances.find((each) => each.metadata.name === name) : undefined;
  if (noted === undefined) return `nodemaintenance/${name}`;
  const { stage, reason = '' } = noted.spec;
  const at = deadlineOf(noted)?.at;
  const deadline = at === undefined ? '' : `, ${deadlineAt(at, at <= now)}`;
  return `nodemaintenance/${name}, ${stage}${deadline}${reason === '' ? '' : `: ${reason}`}`;
}

/** An unguarded node, with the maintenance that takes its pods meanwhile. */
function unguardedNode(node: ListedNode, why: string, now: number): Judgement {
  return { state: 'unguarded', reason: [why, maintenanceReason(node, now) ?? []].flat().join('; ') };
}

function judge(node: ListedNode, agent: WrittenPresence, expected: string, now: number): Judgement {
  const isReady = node.nodeStatus.split(',')[0] === 'Ready';
  const { phase, reason, version, doctor } = agent;
  // A machine that is down cannot report; it is overdue because of the shutdown.
  if (phase === 'waiting') return { state: 'going-down', reason: `it waits for its turn to reboot: ${reason}` };
  if (phase === 'draining') return { state: 'going-down', reason: `its pods leave: ${reason}` };
  if (phase === 'released') {
    const left = agent.last?.result === 'forced' ? 'it was let go with pods left' : 'its pods have left';
    return { state: 'going-down', reason: `${left}: ${reason}` };
  }
  const unguarded = unguardedReason(agent, isReady, now);
  if (unguarded !== undefined) return unguardedNode(node, unguarded, now);
  if (phase === 'recovering') return { state: 'back', reason: 'what the shutdown took away is being put back' };
  const maintenance = maintenanceReason(node, now);
  if (maintenance !== undefined) return { state: 'going-down', reason: maintenance };
  if (expected !== '' && !isSameBuild(version, expected))
    return { state: 'outdated', reason: `${version}; the cluster has ${expected}` };
  if (doctor === 'warn') return { state: 'guarded', reason: checkReason('warns', agent.checks) };
  return { state: 'guarded', reason: uncheckedReason(agent, now) };
}

/** Why a node without an agent is not to have one; undefined where it should. */
function exemptReason(labels: Readonly<Record<string, string>>): string | undefined {
  if (labels[WITHOUT_AGENT_LABEL] === 'true') return `the label ${WITHOUT_AGENT_LABEL} says that it is to have none`;
  const system = labels['kubernetes.io/os'] ?? 'linux';
  if (system !== 'linux') return `no agent runs on ${system}`;
  if (labels['eks.amazonaws.com/compute-type'] === 'fargate') return 'Fargate runs one pod here, and no agent';
  return labels['type'] === 'virtual-kubelet' ? 'no machine is behind a virtual kubelet' : undefined;
}

/** The state of a node at `now`, in milliseconds since the epoch; `expected` is the version that agents should have, '' for any. */
export function fleetNode(node: ListedNode, expected: string, now: number): FleetNode {
  const { name, annotations = {}, labels = {} } = node.metadata;
  const text = annotations[AGENT_STATUS_ANNOTATION];
  const maintenance = annotations[CORDONED_ANNOTATION];
  const agent = text === undefined ? undefined : readPresence(text);
  const known = {
    name,
    nodeStatus: node.nodeStatus,
    ...(agent === undefined ? {} : { agent }),
    ...(maintenance === undefined ? {} : { maintenance }),
  };
  if (agent !== undefined) return { ...known, ...judge(node, agent, expected, now) };
  const exempt = text === undefined ? exemptReason(labels) : undefined;
  if (exempt !== undefined) return { ...known, state: 'exempt', reason: exempt };
  const why = text === undefined ? 'no agent has reported' : 'the report of its agent cannot be read';
  return { ...known, ...unguardedNode(node, why, now) };
}

/** The version that more than half of them are; '' for none. What one agent says of itself makes no other one outdated. */
export function commonVersion(versions: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const version of versions) counts.set(version, (counts.get(version) ?? 0) + 1);
  return [...counts].find(([, count]) => count > versions.length / 2)?.[0] ?? '';
}

/** How many nodes are in each state, those with any. */
export function countStates(nodes: readonly FleetNode[]): Readonly<Partial<Record<FleetState, number>>> {
  const counts: Partial<Record<FleetState, number>> = {};
  for (const { state } of nodes) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}
