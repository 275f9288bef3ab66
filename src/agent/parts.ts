import process from 'node:process';
import { Cluster } from './cluster.ts';
import { openDrain } from './drain-parts.ts';
import { KnownPods } from './drain/offline/known-pods.ts';
import { OfflinePods } from './drain/offline/stop-pods.ts';
import type { Wakeup } from './iteration/wakeup.ts';
import { openAgentMetrics } from './metrics/serve.ts';
import type { ApiAccess } from './node-name.ts';
import { openNoticeMemory } from './notices/memory.ts';
import { Notices } from './notices/notices.ts';
import { findNoticeSources } from './notices/sources.ts';
import type { AgentRecord } from './phase/record.ts';
import { createAnnouncer } from './shutdown/announce.ts';
import { kernelBootIdOf } from './shutdown/boot-id.ts';
import { ShutdownDetector } from './shutdown/detector.ts';
import { createHooks } from './shutdown/hooks.ts';
import type { Host, LockReconciler } from './shutdown/inhibitor-lock.ts';
import { createOtherLocks } from './shutdown/other-locks.ts';
import { openStoryFiles } from './shutdown/story-files.ts';
import { openStoryRecorder } from './shutdown/story-recorder.ts';
import type { StaticPodLocator } from './static-pods/find-directory.ts';
import type { ManualRequests } from './static-pods/manual-requests.ts';
import { MemberWatch } from './static-pods/control-plane-waits.ts';
import { StaticPods } from './static-pods/static-pods.ts';
import { beatEveryMs, LoopWatchdog } from './watchdog.ts';
import { configHash } from '../config/load.ts';
import type { AgentConfig } from '../config/schema.ts';
import type { KubeletScope } from '../decide/machine/kubelet-config.ts';
import type { RefusedKubelet } from '../decide/machine/kubelet-trust.ts';
import { chooseKubeletUnit, runtimeUnitOf } from '../decide/machine/kubelet-unit.ts';
import type { MachineFacts } from '../decide/notice/provider.ts';
import type { DoctorReport } from '../decide/presence/presence.ts';
import type { Trigger } from '../decide/shutdown/trigger.ts';
import { describeError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import { type ContainerRuntime, createContainerRuntime } from '../host/cri/runtime.ts';
import { createSystemBus, type SystemBus } from '../host/dbus/bus.ts';
import type { StateFiles } from '../host/files/state-files.ts';
import { createKubeletFinder, type KubeletFinder } from '../host/kubelet/finder.ts';
import { isKubeletUp } from '../host/kubelet/health.ts';
import { listKubeletPods } from '../host/kubelet/pods-api.ts';
import { createKubeletUnit, type KubeletUnit } from '../host/kubelet/unit.ts';
import { Login1 } from '../host/systemd/logind.ts';
import { SCHEDULED_FILE, watchScheduledFile } from '../host/systemd/scheduled-file.ts';
import { Systemd } from '../host/systemd/manager.ts';
import { notifySystemd, createWatchdog } from '../host/systemd/notify.ts';
import type { ClusterAccess } from '../kube/access/cluster.ts';
import type { KubeClient } from '../kube/client.ts';
import { createEventRecorder } from '../kube/event/recorder.ts';
import { createDirectoryWatch } from '../static-pods/watch.ts';
import type { Log } from '../telemetry/log.ts';

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

/** The machine as the agent reaches it. */
export interface MachineAccess {
  /** Undefined where the configuration has no lock: then neither logind nor systemd is asked. */
  readonly bus: SystemBus | undefined;
  readonly host: Host | undefined;
  readonly kubelets: KubeletFinder;
  readonly runtime: ContainerRuntime;
}

/** Names each process that calls itself a kubelet and is not believed, once for as long as it is found. */
export function createRefusalLog(log: Pick<Log, 'warn'>): (refused: readonly RefusedKubelet[]) => void {
  let said = new Set<string>();
  const keyOf = ({ pid, reason }: RefusedKubelet): string => `${pid} ${reason}`;
  return (refused) => {
    for (const each of refused) {
      if (!said.has(keyOf(each))) log.warn({ ...each }, 'a process that calls itself kubelet is not believed');
    }
    said = new Set(refused.map(keyOf));
  };
}

/** Reaches the machine until `living` is aborted; changes nothing there. `scope` is what is known of this node's kubelet. */
export function openMachine(
  config: AgentConfig,
  scope: KubeletScope,
  { clock, log }: Pick<AgentDependencies, 'clock' | 'log'>,
  living: AbortSignal,
): MachineAccess {
  const bus = config.lock === 'none' ? undefined : createSystemBus({ log, clock }, living);
  const host = bus === undefined ? undefined : { login1: new Login1(bus), systemd: new Systemd(bus) };
  const kubelets = createKubeletFinder({
    scope,
    systemd: host?.systemd,
    unit: config.kubeletUnit,
    onRefused: createRefusalLog(log),
  });
  return { bus, host, kubelets, runtime: createContainerRuntime(config.containerRuntimeEndpoint) };
}

/** Calls `wake` at every sign of a shutdown until `living` is aborted: signals of logind, its schedule, a bus that is back. */
export function watchMachine({ bus, host }: MachineAccess, wake: () => void, log: Log, living: AbortSignal): void {
  if (bus === undefined || host === undefined) return;
  host.login1.onPrepareForShutdown(wake);
  host.login1.onScheduleChange(wake);
  bus.onReconnect(wake);
  watchScheduledFile(SCHEDULED_FILE, wake, log, living);
}

/** The unit of the kubelet; undefined where systemd is not asked for anything. */
export function kubeletUnitOf(
  { host, kubelets }: MachineAccess,
  config: AgentConfig,
  state: StateFiles,
  bootId: string,
): KubeletUnit | undefined {
  if (host === undefined) return undefined;
  return createKubeletUnit(host.systemd, {
    choose: async (signal) => chooseKubeletUnit(config.kubeletUnit, await kubelets.home(signal)),
    state,
    bootId,
  });
}

/** Starts the unit of the container runtime, in the background, where it is not active. */
function runtimeStarterOf(
  { host }: Pick<MachineAccess, 'host'>,
  endpoint: string,
  log: Pick<Log, 'warn'>,
  living: AbortSignal,
): () => void {
  const unit = runtimeUnitOf(endpoint);
  if (host === undefined || unit === undefined) return () => undefined;
  const start = async (): Promise<void> => {
    const { systemd } = host;
    if ((await systemd.isGoingDown(living)) || (await systemd.unitActiveState(unit, living)) === 'active') return;
    log.warn({ unit }, 'the container runtime is not active, and pods have to end: starting it');
    await systemd.startUnit(unit, living);
  };
  return () => {
    start().catch((error: unknown) => {
      if (!living.aborted) log.warn({ unit, reason: describeError(error) }, 'cannot start the container runtime');
    });
  };
}

/** What is there before the parts: the machine, its files, and what an earlier agent left. */
export interface Foundation extends AgentDependencies {
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly bootId: string;
  readonly record: AgentRecord;
  /** Undefined where no cluster is configured. */
  readonly api: ApiAccess | undefined;
  readonly machine: MachineAccess;
  readonly lock: LockReconciler;
  readonly state: StateFiles;
  readonly locator: StaticPodLocator;
  readonly manual: ManualRequests;
  readonly wakeup: Wakeup;
  /** Aborted when the agent has to end at once. */
  readonly signal: AbortSignal;
  /** Aborted when the loop has ended; everything beside it ends then. */
  readonly living: AbortSignal;
}

/** The trigger that still applies: until it is taken back or the machine has gone down, over restarts too. */
function triggerOf({ phase }: AgentRecord, bootId: string): Trigger | undefined {
  if (phase.kind !== 'draining' && phase.kind !== 'released') return undefined;
  const { origin, reason, deadline, canceledBy } = phase;
  const hasDeadline = deadline?.of === 'trigger';
  if (canceledBy !== undefined || phase.bootId !== bootId || (origin !== 'trigger' && !hasDeadline)) return undefined;
  return { reason, ...(hasDeadline ? { deadline: deadline.at } : {}) };
}

function openCluster(foundation: Foundation, onChange: () => void): Cluster | undefined {
  const { api, bootId, config, clock, living, log, nodeName, readDoctor } = foundation;
  if (api === undefined) return undefined;
  const options = {
    access: api.access,
    endsWithBoot: config.onBoot === 'complete' ? kernelBootIdOf(bootId) : undefined,
    presence: { readDoctor, config: configHash(config) },
    living,
  };
  return new Cluster(options, { client: api.client, clock, log, nodeName, onChange });
}

async function makeParts(foundation: Foundation) {
  const { config, clock, log, nodeName, bootId, state, lock, manual, wakeup, signal, living } = foundation;
  const { api, machine, record, readMachineFacts } = foundation;
  const locator: Pick<StaticPodLocator, 'store' | 'relocate' | 'warnings'> = foundation.locator;
  const shared = { config, clock, log, nodeName, bootId, state, lock, manual, wakeup, locator };
  const { host, kubelets, runtime } = machine;
  const wake = wakeup.notify;
  const metrics = await openAgentMetrics(config.metricsAddress, log);
  const cluster = openCluster(foundation, wake);
  const events = cluster && createEventRecorder('nodemaint-agent', cluster.dependencies);
  const announce = createAnnouncer({ nodeName, events, wall: host !== undefined, log, metrics }, living);
  const kubelet = kubeletUnitOf(machine, config, state, bootId);
  const kubeletPods = (until: AbortSignal): ReturnType<typeof listKubeletPods> =>
    listKubeletPods(config.kubeletRootPath, until);
  const knownPods = new KnownPods({ ...shared, client: cluster?.client, kubeletPods });
  const offlinePods = new OfflinePods({ runtime, kubelet, knownPods, clock, log, onChange: wake }, living);
  const staticPods = new StaticPods({
    ...shared,
    store: () => locator.store(),
    runtime,
    authorities: () => api?.access.authorities?.(),
    kubeletUp: (until) => isKubeletUp(config.kubeletHealthz, kubelets.config, until),
    kubelet,
  });
  const startRuntime = runtimeStarterOf(machine, config.containerRuntimeEndpoint, log, living);
  const systemd = createWatchdog();
  const beats = [(until: AbortSignal) => systemd.beat(until), () => lock.heartbeat()];
  const watchdog = new LoopWatchdog(beats, beatEveryMs(process.env['WATCHDOG_USEC']), clock);
  const { markProgress } = watchdog;
  const leadMs = config.scheduledShutdownLeadSec * 1000;
  const files = openStoryFiles(config.stateDirectory);
  const parts = {
    ...shared,
    detector: new ShutdownDetector({ host, triggered: triggerOf(record, bootId), leadMs, clock, log }),
    otherLocks: createOtherLocks({ host, clock, log }),
    runtime,
    knownPods,
    offlinePods,
    notices: new Notices({
      ...shared,
      observer: metrics.notices,
      sources: (until) => findNoticeSources({ config, log, readMachineFacts }, until),
      options: { leadMs: config.cloud.leadSec * 1000 },
      memory: await openNoticeMemory(state, bootId, log),
      aheadMs: cluster?.dependencies.aheadMs ?? (() => 0),
      onChange: wake,
    }),
    announce,
    notify: (line: string) => notifySystemd({ READY: '1', STATUS: line }, signal),
    hooks: createHooks({ ...shared, markProgress }),
    story: await openStoryRecorder({ nodeName, files, clock, log }, record.phase),
    cluster,
    staticPods,
    member: new MemberWatch({ clock, log }) as Pick<MemberWatch, 'look'>,
    /** On while manifests are parked, to notice at once a manifest that another program writes. */
    directoryWatch: createDirectoryWatch(() => locator.store().paths.staticPodPath, wake),
    drain: openDrain({ config, offlinePods, staticPods, runtime, startRuntime, clock, log, cluster, announce }, living),
    markProgress,
  };
  return { parts, watchdog, events, metrics };
}

/** The parts of the agent, and what runs beside it. */
export type Opened = Readonly<Awaited<ReturnType<typeof makeParts>>>;

/** What the agent works with. What reads or does something for it takes those that it needs, by these names. */
export type AgentParts = Readonly<Opened['parts']>;

/** Creates the parts of the agent; none of them does anything before the agent runs. */
export const openParts: (foundation: Foundation) => Promise<Opened> = makeParts;
