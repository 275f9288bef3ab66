import type { NodeMaintenances } from './cluster/maintenance-watch.ts';
import type { NodeEvictionRequests } from './cluster/on-demand-watch.ts';
import type { PresenceFacts } from './cluster/presence.ts';
import type { AgentStatus } from './control/status.ts';
import type { ControllerState } from './drain/controller-lease.ts';
import type { StaticPodPass } from './drain/pod-pass.ts';
import type { AgentRecord } from './phase/record.ts';
import type { ShutdownDetector } from './shutdown/detector.ts';
import type { LockReconciler } from './shutdown/inhibitor-lock.ts';
import { KUBELET_INTERCEPTOR } from '../api/names.ts';
import { interceptorEntry } from '../decide/eviction/heartbeat.ts';
import { targetKeyOf } from '../decide/eviction/request.ts';
import { hasDrained, nodeStatusOf } from '../decide/maintenance/recorded-node.ts';
import { drainWaits, WAIT_OF_REASON, WAITERS, type Waiting, waitOfSaid } from '../decide/node/waits.ts';
import type { LastShutdown } from '../decide/presence/last-shutdown.ts';
import { turnWaitOf } from '../decide/reboot/turn.ts';
import { podKey } from '../decide/static-pod/moves.ts';
import { deadlineWords } from '../decide/shutdown/events.ts';
import { describePhase, holdsLock, type Phase } from '../decide/shutdown/phase.ts';
import { rfc3339, timeOf } from '../decide/time.ts';
import type { ClusterAccess } from '../kube/access/cluster.ts';
import type { KubeClient } from '../kube/client.ts';

/** What the status is made of. */
export interface StatusFacts {
  readonly nodeName: string;
  readonly startedAt: number;
  readonly phase: Phase;
  /** When this process last changed the phase, in milliseconds since the epoch; undefined where it has not. */
  readonly changedAt?: number | undefined;
  readonly lastShutdown?: LastShutdown | undefined;
  /** The last pass over the pods; undefined before the first one. */
  readonly lastPass: StaticPodPass | undefined;
  readonly storageProblem: string | undefined;
  /** Undefined where no cluster is configured. */
  readonly cluster: StatusCluster | undefined;
  /** Undefined where it is not known, or does not matter. */
  readonly controller: ControllerState | undefined;
  readonly scheduled: ReturnType<ShutdownDetector['scheduled']>;
  readonly lock: ReturnType<LockReconciler['status']>;
  readonly otherLocks: readonly string[];
  readonly warnings: readonly string[];
}

/** What the status shows of the cluster. */
interface StatusCluster {
  readonly access: Pick<ClusterAccess, 'server'>;
  readonly client: Pick<KubeClient, 'problem'>;
  readonly maintenances: Pick<NodeMaintenances, 'get' | 'heardAt' | 'drains'>;
  readonly requests: Pick<NodeEvictionRequests, 'list'>;
}

/** The pods whose EvictionRequests are not over, without those of which this agent itself has said what they wait for. */
function waitingForRequests({ requests }: StatusCluster): readonly Waiting[] {
  return requests.list().flatMap((request) => {
    const active = request.status?.activeInterceptors?.[0];
    const entry = active === undefined ? undefined : interceptorEntry(request, active);
    if (active === KUBELET_INTERCEPTOR && entry?.message !== undefined) return [];
    const expectedAt = timeOf(entry?.expectedFinishTime);
    const since = timeOf(request.metadata.creationTimestamp);
    const waiting: Waiting = {
      wait: waitOfSaid(active, entry?.message),
      what: targetKeyOf(request),
      on: active ?? 'eviction request controller',
      message: entry?.message ?? '',
      ...(since === undefined ? {} : { since }),
      ...(expectedAt === undefined ? {} : { expectedAt }),
    };
    return [waiting];
  });
}

/** The pods that nobody could be asked for, as whoever drains the node has written it: others that block are known by their requests. */
function waitingForBlocked({ cluster, phase, nodeName }: StatusFacts): readonly Waiting[] {
  if (phase.kind !== 'draining' || phase.mode !== 'cluster') return [];
  const own = nodeStatusOf(cluster?.maintenances.get(phase.maintenance)?.status, nodeName);
  return (own?.podsBlocking ?? []).flatMap(({ namespace, name, reason, message, since }) => {
    if (reason !== 'EvictionRefused' && reason !== 'EvictionFailed') return [];
    const at = timeOf(since);
    const what = `${namespace}/${name}`;
    return {
      wait: WAIT_OF_REASON[reason],
      what,
      on: phase.maintenance,
      message,
      ...(at === undefined ? {} : { since: at }),
    };
  });
}

/** The static pods whose manifests leave and whose containers still run. */
function waitingForStaticPods({ decision, view }: StaticPodPass): readonly Waiting[] {
  return decision.progress
    .filter(({ state }) => state !== 'ended')
    .map(({ key: what, file, message, wait, expectedFinishAt: expectedAt }) => {
      // A manifest whose move the journal does not know was parked at an unknown time.
      const since = view.parked.find((pod) => pod.file === file)?.parkedAt ?? 0;
      const said: Pick<Waiting, 'wait' | 'message'> =
        message === undefined
          ? { wait: 'grace-period', message: 'manifest parked, containers are ending' }
          : { wait: wait ?? 'manifest', message };
      const on = wait === undefined ? 'kubelet' : WAITERS[wait];
      return { ...said, what, on, ...(since === 0 ? {} : { since }), expectedAt };
    });
}

/** That the machine waits for its turn to reboot, as whoever gives the turns has written it. */
function waitingForTurn({ cluster, phase }: StatusFacts): readonly Waiting[] {
  if (phase.kind !== 'draining') return [];
  const turn = turnWaitOf(cluster?.maintenances.get(phase.maintenance));
  if (turn === undefined) return [];
  const wait = WAIT_OF_REASON[turn.reason];
  return [{ wait, what: 'its turn to reboot', on: 'other nodes', message: turn.message, since: phase.since }];
}

/** Whether the node is drained for everybody who has asked for it. */
function isDrained({ maintenances }: StatusCluster, nodeName: string): boolean {
  const drains = maintenances.drains().map(({ maintenance }) => maintenances.get(maintenance));
  return drains.length > 0 && drains.every((each) => each !== undefined && hasDrained(each, nodeName));
}

/** The requests that somebody finishes: those of a controller that is dead or idle say nothing once the agent drains alone, or has. */
function waitingForOthers(facts: StatusFacts, ofDrain: readonly Waiting[]): readonly Waiting[] {
  const { nodeName, cluster, controller } = facts;
  if (cluster === undefined) return [];
  const isAlone = controller?.kind === 'dead' || controller?.kind === 'idle';
  const tellsItself = ofDrain.length > 0 || isDrained(cluster, nodeName);
  return isAlone && tellsItself ? [] : [...waitingForRequests(cluster), ...waitingForBlocked(facts)];
}

/** Everything that the node waits for; of a pod that several sources name, the first one counts. */
function waitingFor(facts: StatusFacts): readonly Waiting[] {
  const { lastPass } = facts;
  const ofDrain = lastPass?.waiting ?? [];
  const all = [
    ...waitingForTurn(facts),
    ...ofDrain,
    ...(lastPass === undefined ? [] : waitingForStaticPods(lastPass)),
    ...waitingForOthers(facts, ofDrain),
  ];
  const byName = new Map<string, Waiting>();
  for (const each of all) if (!byName.has(each.what)) byName.set(each.what, each);
  if (byName.size > 0) return [...byName.values()];
  const { cluster, phase, controller } = facts;
  const isKnown = phase.kind === 'draining' && cluster?.maintenances.get(phase.maintenance) !== undefined;
  return drainWaits(phase, isKnown, controller?.kind);
}

function clusterStatus(cluster: StatusCluster | undefined): AgentStatus['cluster'] {
  if (cluster === undefined) return { configured: false };
  const heardAt = cluster.maintenances.heardAt();
  const problem = cluster.client.problem?.();
  return {
    configured: true,
    server: cluster.access.server?.origin ?? 'unknown',
    ...(heardAt === undefined ? {} : { heardAt }),
    ...(problem === undefined ? {} : { problem }),
  };
}

/** The NodeMaintenance of the shutdown, with what its status says of this node. */
function maintenanceStatus({ phase, nodeName, cluster }: StatusFacts): AgentStatus['maintenance'] {
  if (phase.kind === 'watching') return null;
  const { maintenance: name } = phase;
  const message = nodeStatusOf(cluster?.maintenances.get(name)?.status, nodeName)?.drainMessage;
  return { name, ...(message === undefined ? {} : { message }) };
}

/** The phase as one line; while no shutdown is known, with what becomes of the next one. */
export function phaseWithLock(phase: Phase, { kind, held }: Pick<AgentStatus['lock'], 'kind' | 'held'>): string {
  if (phase.kind !== 'watching') return describePhase(phase);
  const lock = kind === 'none' ? 'without a lock' : held ? 'lock held' : 'lock NOT HELD';
  return `${describePhase(phase)}, ${lock}`;
}

/** What the agent says of itself on its Node. */
export function presenceFactsOf(
  { phase, last }: Pick<AgentRecord, 'phase' | 'last'>,
  lock: StatusFacts['lock'],
  maintenances: Pick<NodeMaintenances, 'get'>,
  lastPass?: Pick<StaticPodPass, 'carriers'>,
): PresenceFacts {
  const carriers = lastPass?.carriers.map(podKey) ?? [];
  const isMissing = !lock.held && holdsLock(phase) && lock.kind !== 'none';
  const turn = phase.kind === 'draining' ? turnWaitOf(maintenances.get(phase.maintenance)) : undefined;
  const waits = turn === undefined ? '' : `; ${turn.message}`;
  const shutdown =
    phase.kind === 'draining' || phase.kind === 'released' ? `${phase.reason}${deadlineWords(phase)}${waits}` : '';
  return {
    phase: turn === undefined ? phase.kind : 'waiting',
    lock: lock.kind === 'none' ? 'none' : lock.held ? 'held' : 'missing',
    reason: isMissing ? lock.message : shutdown,
    ...(carriers.length === 0 ? {} : { carriers }),
    ...(last === undefined ? {} : { last: { result: last.result, at: rfc3339(last.at) } }),
  };
}

/** Since when the phase lasts; of one that an earlier process began and that has no time of its own, since when this one runs. */
function phaseSinceOf({ phase, changedAt, startedAt }: StatusFacts): number {
  if (phase.kind === 'draining') return phase.since;
  return phase.kind === 'released' ? phase.releasedAt : (changedAt ?? startedAt);
}

/** The status of the agent as plain data. */
export function buildStatus(facts: StatusFacts): AgentStatus {
  const { nodeName, phase, lock, lastPass, scheduled, controller, lastShutdown, storageProblem, startedAt } = facts;
  const view = lastPass?.view;
  return {
    node: nodeName,
    phase,
    summary: phaseWithLock(phase, lock),
    phaseSince: phaseSinceOf(facts),
    lock: { ...lock, others: facts.otherLocks },
    scheduled: scheduled === null || scheduled.at === null ? null : { kind: scheduled.kind, at: scheduled.at },
    cluster: clusterStatus(facts.cluster),
    ...(controller === undefined ? {} : { controller: { state: controller.kind, silentMs: controller.silentMs } }),
    maintenance: maintenanceStatus(facts),
    ...(lastShutdown === undefined ? {} : { lastShutdown }),
    waitingFor: waitingFor(facts),
    inPlace: [...(view?.inPlace ?? []), ...(view?.ended ?? [])].map(({ file }) => file),
    parked: view?.parked.map(({ file }) => file) ?? [],
    ...(storageProblem === undefined ? {} : { storageProblem }),
    warnings: facts.warnings,
    startedAt,
  };
}
