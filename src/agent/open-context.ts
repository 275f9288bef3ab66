import process from 'node:process';
import { configHash } from '../config/hash.ts';
import type { AgentConfig } from '../config/schema.ts';
import type { DoctorReport } from '../decide/presence/presence.ts';
import type { MachineFacts } from '../decide/notice/provider.ts';
import type { Clock } from '../host/clock.ts';
import { type StateFiles } from '../host/files/state-files.ts';
import type { KubeletUnit } from '../host/kubelet/unit.ts';
import { listKubeletPods } from '../host/kubelet/pods-api.ts';
import { isKubeletUp } from '../host/kubelet/health.ts';
import { notifySystemd } from '../host/systemd/systemd1.ts';
import { createWatchdog } from '../host/systemd/watchdog.ts';
import { type ClusterAccess, openClusterAccess } from '../kube/access/cluster.ts';
import { createKubeClient, type KubeClient } from '../kube/client.ts';
import { createEventRecorder, type EventRecorder } from '../kube/events.ts';
import { createDirectoryWatch } from '../static-pods/watch.ts';
import type { Trigger } from '../decide/shutdown/trigger.ts';
import type { Log } from '../telemetry/log.ts';
import { type ClusterParts, openCluster } from './cluster-parts.ts';
import type { AgentContext, StaticPodParts } from './context.ts';
import { createKnownPods, type KnownPodsDependencies } from './drain/offline/known-pods.ts';
import { createOfflinePods } from './drain/offline/offline-pods.ts';
import { type ClusterScope, createDrainParts } from './drain-parts.ts';
import { kubeletUnitOf, type MachineAccess } from './machine-parts.ts';
import { openNoticeMemory } from './notices/memory.ts';
import { type AgentMetrics, openAgentMetrics } from './metrics/metrics.ts';
import { createNotices, type Notices } from './notices/notices.ts';
import { findNoticeSources } from './notices/sources.ts';
import { createAnnouncer } from './shutdown/announce.ts';
import { kernelBootIdOf } from './shutdown/boot-id.ts';
import { createShutdownDetector } from './shutdown/detector.ts';
import { createHooks } from './shutdown/hooks.ts';
import type { LockReconciler } from './shutdown/lock.ts';
import { openStoryFiles } from './shutdown/story-files.ts';
import { openStoryRecorder } from './shutdown/story-recorder.ts';
import { createOtherLocks } from './shutdown/other-locks.ts';
import { type AgentRecord } from './phase/record.ts';
import { type StaticPodLocator } from './static-pods/directory-in-use.ts';
import { type ManualRequests } from './static-pods/manual.ts';
import { createStaticPods } from './static-pods/static-pods.ts';
import { type Wakeup } from './iteration/wakeup.ts';
import { beatEveryMs, createLoopWatchdog, type LoopWatchdog } from './watchdog.ts';

/** An iteration of the loop that takes longer hangs: the watchdog stops. Each call in an iteration has a time-out far below. */
const PATIENCE_MS = 300_000;

/** What the agent needs from the process. */
export interface AgentDependencies {
  readonly clock: Clock;
  readonly log: Log;
  /** What the firmware says of this machine. */
  readonly readMachineFacts: (signal: AbortSignal) => Promise<MachineFacts>;
  /** The worst result of the checks of `nodemaint doctor`, and which checks have it. */
  readonly readDoctor: (signal: AbortSignal) => Promise<DoctorReport>;
  /** Connects to the API server; as a client of `createKubeClient` does unless given. */
  readonly connect?: (access: ClusterAccess) => KubeClient;
}

/** What the agent's parts are built on. */
export interface Foundation {
  readonly config: AgentConfig;
  readonly dependencies: AgentDependencies;
  readonly nodeName: string;
  /** Undefined where no cluster is configured. */
  readonly api: { readonly access: ClusterAccess; readonly client: KubeClient } | undefined;
  readonly machine: MachineAccess;
  readonly lock: LockReconciler;
  readonly state: StateFiles;
  readonly wakeup: Wakeup;
  readonly wake: () => void;
  /** Aborted when the agent has to end at once. */
  readonly signal: AbortSignal;
  /** Aborted when the loop has ended; everything beside it ends then. */
  readonly living: AbortSignal;
}

/** What the files of an earlier agent and the kernel say when this one starts. */
export interface Beginning {
  readonly bootId: string;
  readonly record: AgentRecord;
}

/**
 * The trigger that still applies: until it is taken back or the machine has gone down, over restarts too. Where it is not
 * recorded who gave it, it counts as root's.
 */
function triggerOf({ phase }: AgentRecord, bootId: string): Trigger | undefined {
  if (phase.kind !== 'draining' && phase.kind !== 'released') return undefined;
  const { origin, reason, deadline, requestedBy: by = 'root', canceledBy } = phase;
  const hasDeadline = deadline?.of === 'trigger';
  if (canceledBy !== undefined || phase.bootId !== bootId || (origin !== 'trigger' && !hasDeadline)) return undefined;
  const limit = hasDeadline ? { deadline: deadline.at } : {};
  return { by, reason, ...limit };
}

async function openNotices(
  { config, dependencies, state, wake }: Foundation,
  bootId: string,
  { observer, cluster }: { observer: AgentMetrics['notices']; cluster: ClusterParts | undefined },
): Promise<Notices> {
  const { clock, log } = dependencies;
  const { leadSec, rebalance, freeze } = config.cloud;
  return createNotices({
    observer,
    sources: (until) => findNoticeSources({ config, ...dependencies }, until),
    options: { leadMs: leadSec * 1000, rebalance, freeze },
    memory: await openNoticeMemory(state, bootId, log),
    clock,
    aheadMs: cluster?.dependencies.aheadMs ?? (() => 0),
    log,
    onChange: wake,
  });
}

/** The way to the API server of the configuration, with a client for it; undefined where no cluster is configured. */
export function openApi(
  { kubeconfig }: AgentConfig,
  { connect = connectAsAgent }: AgentDependencies,
): Foundation['api'] {
  if (kubeconfig === '') return undefined;
  const access = openClusterAccess(kubeconfig);
  return { access, client: connect(access) };
}

function connectAsAgent(access: ClusterAccess): KubeClient {
  return createKubeClient(access, 'nodemaint-agent');
}

function openClusterOf(
  { api, config, dependencies, nodeName, machine, wake, living }: Foundation,
  bootId: string,
): ClusterParts | undefined {
  if (api === undefined) return undefined;
  const { clock, log, readDoctor } = dependencies;
  const endsWithBoot = config.onBoot === 'complete' ? kernelBootIdOf(bootId) : undefined;
  const presence = { readDoctor, config: configHash(config) };
  return openCluster(
    { access: api.access, endsWithBoot, runtime: machine.runtime, presence },
    { client: api.client, clock, log, nodeName, onChange: wake },
    living,
  );
}

function createStaticPodParts(
  { config, dependencies, nodeName, machine, wake }: Foundation,
  locator: StaticPodLocator,
  { bootId, kubelet, manual }: { bootId: string; kubelet: KubeletUnit | undefined; manual: ManualRequests },
): StaticPodParts {
  const { clock, log } = dependencies;
  const { kubelets, runtime } = machine;
  return {
    manual,
    journal: { problem: () => locator.store().mover.problem(), retry: () => locator.store().mover.retry() },
    locate: (signal) => locator.relocate(signal),
    directoryWatch: createDirectoryWatch(() => locator.store().paths.staticPodPath, wake),
    warnings: () => locator.warnings(),
    pods: createStaticPods({
      store: () => locator.store(),
      nodeName,
      bootId,
      runtime,
      kubeletUp: (signal) => isKubeletUp(config.kubeletHealthz, kubelets.config, signal),
      kubeletStopped: async () => (await kubelet?.isStopped()) === true,
      clock,
      log,
    }),
  };
}

export interface Opened {
  readonly context: AgentContext;
  readonly watchdog: LoopWatchdog;
  readonly events: EventRecorder | undefined;
  readonly metrics: AgentMetrics;
}

/** Asks the kubelet for its pods. */
function kubeletPodsOf({ kubeletRootPath }: AgentConfig): KnownPodsDependencies['kubeletPods'] {
  return (signal) => listKubeletPods(kubeletRootPath, signal);
}

/** What the drain needs of the cluster. */
function drainScopeOf(
  parts: ReturnType<typeof openClusterOf>,
  { maxVolumeWaitSec, progressWaitSec }: AgentConfig,
  announce: ClusterScope['announce'],
): ClusterScope {
  const { cluster, lease, interceptor, dependencies, ownNode } = parts ?? {};
  const limits = { maxVolumeWaitMs: maxVolumeWaitSec * 1000, maxIdleMs: progressWaitSec * 1000 };
  return { cluster, lease, interceptor, dependencies, ownNode, ...limits, announce };
}

/** Creates the parts of the agent; none of them does anything before the agent runs. */
export async function openContext(
  foundation: Foundation,
  { bootId, record }: Beginning,
  { locator, manual }: { locator: StaticPodLocator; manual: ManualRequests },
): Promise<Opened> {
  const { config, dependencies, nodeName, machine, lock, state, wakeup, wake, signal, living } = foundation;
  const { clock, log } = dependencies;
  const { host, runtime } = machine;
  const metrics = await openAgentMetrics(config.metricsAddress, log);
  const cluster = openClusterOf(foundation, bootId);
  const client = cluster?.client;
  const events = cluster && createEventRecorder('nodemaint-agent', cluster.dependencies);
  const kubelet = kubeletUnitOf(machine, config, state, bootId);
  const knownPods = createKnownPods({ state, nodeName, client, kubeletPods: kubeletPodsOf(config), clock, log });
  const offlinePods = createOfflinePods({ runtime, kubelet, knownPods, clock, log, onChange: wake }, living);
  const staticPods = createStaticPodParts(foundation, locator, { bootId, kubelet, manual });
  const systemdWatchdog = createWatchdog();
  const beats = [(until: AbortSignal) => systemdWatchdog.beat(until), () => lock.heartbeat()];
  const everyMs = beatEveryMs(process.env['WATCHDOG_USEC']);
  const watchdog = createLoopWatchdog({ everyMs, patienceMs: PATIENCE_MS, beats }, clock);
  const { markProgress } = watchdog;
  const announce = createAnnouncer({ nodeName, events, wall: host !== undefined, log, metrics }, living);
  const hookOptions = { directory: config.hooksDirectory, timeoutMs: config.hookTimeoutSec * 1000, nodeName };
  const leadMs = config.scheduledShutdownLeadSec * 1000;
  const context: AgentContext = {
    config,
    clock,
    log,
    state,
    cluster,
    node: { name: nodeName, bootId },
    notices: await openNotices(foundation, bootId, { observer: metrics.notices, cluster }),
    machine: {
      detector: createShutdownDetector({ host, triggered: triggerOf(record, bootId), leadMs, clock, log }),
      lock,
      otherLocks: createOtherLocks({ host, clock, log }),
      runtime,
      knownPods,
      offlinePods,
    },
    people: {
      announce,
      notify: (line) => notifySystemd({ READY: '1', STATUS: line }, signal),
      story: await openStoryRecorder(
        { nodeName, files: openStoryFiles(config.stateDirectory), clock, log },
        record.phase,
      ),
      hooks: createHooks(hookOptions, { clock, log, markProgress }),
    },
    staticPods,
    drain: createDrainParts(
      { pods: offlinePods, staticPods: staticPods.pods, runtime, drainPlan: config.drainPlan, clock, log },
      drainScopeOf(cluster, config, announce),
      living,
    ),
    loop: { wakeup, markProgress },
  };
  return { context, watchdog, events, metrics };
}
