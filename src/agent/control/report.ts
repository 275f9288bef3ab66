import { interceptorEntry } from '../../decide/eviction/heartbeat.ts';
import { describePhase } from '../../decide/shutdown/phase.ts';
import type { AgentContext } from '../context.ts';
import type { AgentRecord } from '../shutdown/record.ts';
import type { AgentStatus } from './status.ts';
import type { Waiting } from '../waiting.ts';
import { timeOf } from '../../decide/time.ts';
import type { StaticPodDecision } from '../../decide/static-pod/moves.ts';
import type { StaticPodView } from '../static-pods/view.ts';

export interface StatusFacts {
  readonly record: AgentRecord;
  readonly turn: Turn | undefined;
  readonly startedAt: number;
  readonly storageProblem: string | undefined;
}

/** Everything the node waits for now: EvictionRequests of its pods, then static pods that still run. */
function waitingFor(context: AgentContext, { record, turn }: StatusFacts): readonly Waiting[] {
  const { phase } = record;
  const waiting: Waiting[] = [];
  const requested = new Set<string>();
  for (const pod of turn?.waiting ?? []) {
    requested.add(pod.what);
    waiting.push(pod);
  }
  for (const request of context.cluster?.requests() ?? []) {
    const what = `${request.metadata.namespace}/${request.spec.target.pod.name}`;
    if (requested.has(what)) continue;
    const active = request.status?.activeInterceptors?.[0];
    const entry = active === undefined ? undefined : interceptorEntry(request, active);
    const expectedAt = timeOf(entry?.expectedFinishTime);
    requested.add(what);
    waiting.push({
      what,
      on: active ?? 'eviction request controller',
      message: entry?.message ?? '',
      since: timeOf(request.metadata.creationTimestamp) ?? 0,
      ...(expectedAt === undefined ? {} : { expectedAt }),
    });
  }
  for (const pod of turn?.decision.progress ?? []) {
    if (pod.state === 'ended' || requested.has(pod.key)) continue;
    const parked = turn?.view.parked.find(({ file }) => file === pod.file);
    const message = pod.message ?? 'manifest parked, containers are ending';
    waiting.push({
      what: pod.key,
      on: 'kubelet',
      message,
      since: parked?.parkedAt ?? 0,
      expectedAt: pod.expectedFinishAt,
    });
  }
  if (phase.kind === 'draining' && phase.mode === 'cluster' && waiting.length === 0) {
    const known = context.cluster?.maintenance(phase.maintenance);
    const message =
      known === undefined ? 'the API server to take the NodeMaintenance' : 'the controller to drain the node';
    waiting.push({ what: phase.maintenance, on: 'nodemaint controller', message, since: phase.since });
  }
  return waiting;
}

/** The status of the agent as plain data. */
export function buildStatus(context: AgentContext, facts: StatusFacts): AgentStatus {
  const { phase } = facts.record;
  const { cluster, nodeName } = context;
  const scheduled = context.detector.scheduled();
  const name = phase.kind === 'watching' ? undefined : phase.maintenance;
  const maintenance = name === undefined ? undefined : cluster?.maintenance(name);
  const controller = context.drain.controller?.state();
  const node = maintenance?.status?.nodeStatuses?.find(({ nodeRef }) => nodeRef.name === nodeName);
  return {
    node: nodeName,
    phase,
    summary: describePhase(phase),
    lock: { ...context.hold.status(phase), others: context.otherLocks.status() },
    scheduled: scheduled === null || scheduled.at === null ? null : { kind: scheduled.kind, at: scheduled.at },
    cluster: { configured: cluster !== undefined, server: context.server, heardAt: cluster?.heardAt() ?? 0 },
    ...(controller === undefined ? {} : { controller: { state: controller.kind, silentMs: controller.silentMs } }),
    maintenance: name === undefined ? null : { name, message: node?.drainMessage ?? '' },
    waitingFor: waitingFor(context, facts),
    inPlace: [...(facts.turn?.view.inPlace ?? []), ...(facts.turn?.view.ended ?? [])].map(({ file }) => file),
    parked: facts.turn?.view.parked.map(({ file }) => file) ?? [],
    ...(facts.storageProblem === undefined ? {} : { storageProblem: facts.storageProblem }),
    warnings: context.warnings(),
    startedAt: facts.startedAt,
  };
}

/** What one turn of the loop saw and did, for the status. */
export interface Turn {
  readonly view: StaticPodView;
  readonly decision: StaticPodDecision;
  /** What a drain by this agent waits for. */
  readonly waiting: readonly Waiting[];
}
