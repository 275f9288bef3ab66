import { hasDrained, nodeStatusOf } from '../decide/maintenance/recorded-node.ts';
import { interceptorEntry } from '../decide/eviction/heartbeat.ts';
import { targetKeyOf } from '../decide/eviction/request.ts';
import { turnWaitOf } from '../decide/shutdown/machine-going-down.ts';
import type { LastShutdown } from '../decide/presence/last-shutdown.ts';
import { describePhase, type Phase } from '../decide/shutdown/phase.ts';
import { timeOf } from '../decide/time.ts';
import type { NodeEvictionRequests } from './cluster/eviction-requests.ts';
import type { NodeMaintenances } from './cluster/maintenance-watch.ts';
import type { ControllerState } from './drain/controller-lease.ts';
import type { ShutdownDetector } from './shutdown/detector.ts';
import type { LockReconciler } from './shutdown/lock.ts';
import type { OtherLocks } from './shutdown/other-locks.ts';
import type { StaticPodPass } from './drain/pod-pass.ts';
import type { Waiting } from './iteration/waited-for.ts';
import type { ClusterAccess } from '../kube/access/cluster.ts';
import type { KubeClient } from '../kube/client.ts';
import type { AgentStatus } from './control/status.ts';
import { endingOf } from '../decide/interceptor/message.ts';

/** Where the status is read from. */
export interface StatusDependencies {
  readonly nodeName: string;
  readonly startedAt: number;
  readonly phase: () => Phase;
  /** When this process last changed the phase, in milliseconds since the epoch; undefined where it has not. */
  readonly changedAt?: () => number | undefined;
  readonly lastShutdown?: () => LastShutdown | undefined;
  /** The last pass over the pods; undefined before the first one. */
  readonly lastPass: () => StaticPodPass | undefined;
  readonly storageProblem: () => string | undefined;
  /** Undefined where no cluster is configured. */
  readonly cluster: StatusCluster | undefined;
  readonly detector: Pick<ShutdownDetector, 'scheduled'>;
  readonly lock: Pick<LockReconciler, 'status'>;
  readonly otherLocks: Pick<OtherLocks, 'status'>;
  readonly warnings: () => readonly string[];
}

/** What the status shows of the cluster. */
export interface StatusCluster {
  readonly access: Pick<ClusterAccess, 'server'>;
  readonly client: Pick<KubeClient, 'problem'>;
  readonly cluster: {
    readonly maintenances: Pick<NodeMaintenances, 'get' | 'heardAt' | 'drains'>;
    readonly requests: Pick<NodeEvictionRequests, 'list'>;
  };
  readonly controller: () => ControllerState | undefined;
}

/** The pods whose EvictionRequests are not over. */
function waitingForRequests({ requests }: StatusCluster['cluster']): readonly Waiting[] {
  return requests.list().map((request) => {
    const active = request.status?.activeInterceptors?.[0];
    const entry = active === undefined ? undefined : interceptorEntry(request, active);
    const expectedAt = timeOf(entry?.expectedFinishTime);
    const since = timeOf(request.metadata.creationTimestamp);
    return {
      what: targetKeyOf(request),
      on: active ?? 'eviction request controller',
      message: entry?.message ?? '',
      ...endingOf(entry?.message),
      ...(since === undefined ? {} : { since }),
      ...(expectedAt === undefined ? {} : { expectedAt }),
    };
  });
}

/** The static pods whose manifests leave and whose containers still run. */
function waitingForStaticPods({ decision, view }: StaticPodPass): readonly Waiting[] {
  return decision.progress
    .filter(({ state }) => state !== 'ended')
    .map(({ key: what, file, message, expectedFinishAt: expectedAt }) => {
      // A manifest whose move the journal does not know was parked at an unknown time.
      const since = view.parked.find((pod) => pod.file === file)?.parkedAt ?? 0;
      const said =
        message === undefined
          ? { message: 'manifest parked, containers are ending', ending: true as const }
          : { message };
      return { what, on: 'kubelet', ...said, ...(since === 0 ? {} : { since }), expectedAt };
    });
}

/** What the drain itself waits for, where no pod is known that it waits for. */
function waitingForDrain(cluster: StatusCluster['cluster'] | undefined, phase: Phase): readonly Waiting[] {
  if (phase.kind !== 'draining' || phase.mode !== 'cluster') return [];
  const isKnown = cluster?.maintenances.get(phase.maintenance) !== undefined;
  const message = isKnown ? 'the controller to drain the node' : 'the API server to take the NodeMaintenance';
  return [{ what: phase.maintenance, on: 'nodemaint controller', message, since: phase.since }];
}

/** That the machine waits for its turn to reboot, as whoever gives the turns has written it. */
function waitingForTurn({ cluster, phase }: StatusDependencies): readonly Waiting[] {
  const shutdown = phase();
  if (shutdown.kind !== 'draining') return [];
  const wait = turnWaitOf(cluster?.cluster.maintenances.get(shutdown.maintenance));
  if (wait === undefined) return [];
  return [{ what: 'its turn to reboot', on: 'other nodes', message: wait.message, since: shutdown.since }];
}

/** Whether the node is drained for everybody who has asked for it. */
function isDrained({ maintenances }: StatusCluster['cluster'], nodeName: string): boolean {
  const drains = maintenances.drains().map(({ maintenance }) => maintenances.get(maintenance));
  return drains.length > 0 && drains.every((each) => each !== undefined && hasDrained(each, nodeName));
}

/** The requests that somebody finishes: those of a controller that is dead or idle say nothing once the agent drains alone, or has. */
function waitingForOthers({ nodeName, cluster }: StatusDependencies, ofDrain: readonly Waiting[]): readonly Waiting[] {
  if (cluster === undefined) return [];
  const life = cluster.controller()?.kind;
  const isAlone = life === 'dead' || life === 'idle';
  const tellsItself = ofDrain.length > 0 || isDrained(cluster.cluster, nodeName);
  return isAlone && tellsItself ? [] : waitingForRequests(cluster.cluster);
}

/** Everything that the node waits for; of a pod that several sources name, the first one counts. */
function waitingFor(dependencies: StatusDependencies): readonly Waiting[] {
  const { cluster, lastPass, phase } = dependencies;
  const pass = lastPass();
  const ofDrain = pass?.waiting ?? [];
  const all = [
    ...waitingForTurn(dependencies),
    ...ofDrain,
    ...waitingForOthers(dependencies, ofDrain),
    ...(pass === undefined ? [] : waitingForStaticPods(pass)),
  ];
  const byName = new Map<string, Waiting>();
  for (const each of all) if (!byName.has(each.what)) byName.set(each.what, each);
  return byName.size > 0 ? [...byName.values()] : waitingForDrain(cluster?.cluster, phase());
}

function clusterStatus(cluster: StatusCluster | undefined): AgentStatus['cluster'] {
  if (cluster === undefined) return { configured: false };
  const heardAt = cluster.cluster.maintenances.heardAt();
  const problem = cluster.client.problem?.();
  return {
    configured: true,
    server: cluster.access.server?.origin ?? 'unknown',
    ...(heardAt === undefined ? {} : { heardAt }),
    ...(problem === undefined ? {} : { problem }),
  };
}

/** The NodeMaintenance of the shutdown, with what its status says of this node. */
function maintenanceStatus(
  phase: Phase,
  nodeName: string,
  cluster: StatusCluster | undefined,
): AgentStatus['maintenance'] {
  if (phase.kind === 'watching') return null;
  const { maintenance: name } = phase;
  const message = nodeStatusOf(cluster?.cluster.maintenances.get(name)?.status, nodeName)?.drainMessage;
  return { name, ...(message === undefined ? {} : { message }) };
}

/** The phase as one line; while no shutdown is known, with what becomes of the next one. */
export function phaseWithLock(phase: Phase, { kind, held }: Pick<AgentStatus['lock'], 'kind' | 'held'>): string {
  if (phase.kind !== 'watching') return describePhase(phase);
  const lock = kind === 'none' ? 'without a lock' : held ? 'lock held' : 'lock NOT HELD';
  return `${describePhase(phase)}, ${lock}`;
}

/** The status of the agent as plain data. */
export function buildStatus(dependencies: StatusDependencies): AgentStatus {
  const { nodeName, cluster, startedAt } = dependencies;
  const phase = dependencies.phase();
  const lock = dependencies.lock.status(phase);
  const view = dependencies.lastPass()?.view;
  const scheduled = dependencies.detector.scheduled();
  const controller = cluster?.controller();
  const lastShutdown = dependencies.lastShutdown?.();
  const storageProblem = dependencies.storageProblem();
  return {
    node: nodeName,
    phase,
    summary: phaseWithLock(phase, lock),
    ...(phase.kind === 'watching' ? { watchingSince: dependencies.changedAt?.() ?? startedAt } : {}),
    lock: { ...lock, others: dependencies.otherLocks.status() },
    scheduled: scheduled === null || scheduled.at === null ? null : { kind: scheduled.kind, at: scheduled.at },
    cluster: clusterStatus(cluster),
    ...(controller === undefined ? {} : { controller: { state: controller.kind, silentMs: controller.silentMs } }),
    maintenance: maintenanceStatus(phase, nodeName, cluster),
    ...(lastShutdown === undefined ? {} : { lastShutdown }),
    waitingFor: waitingFor(dependencies),
    inPlace: [...(view?.inPlace ?? []), ...(view?.ended ?? [])].map(({ file }) => file),
    parked: view?.parked.map(({ file }) => file) ?? [],
    ...(storageProblem === undefined ? {} : { storageProblem }),
    warnings: dependencies.warnings(),
    startedAt,
  };
}
