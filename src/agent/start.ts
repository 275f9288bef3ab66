import process from 'node:process';
import type { AgentConfig } from '../config/schema.ts';
import { chooseKubeletUnit } from '../decide/machine/kubelet-unit.ts';
import { uncleanShutdownEvent } from '../decide/shutdown/events.ts';
import { phaseAtStart } from '../decide/shutdown/lost-record.ts';
import type { MachineFacts } from '../decide/notice/provider.ts';
import type { Phase } from '../decide/shutdown/phase.ts';
import { describeError } from '../errors.ts';
import { type Clock, monotonicNow } from '../host/clock.ts';
import { createContainerRuntime } from '../host/cri/runtime.ts';
import { createKubeletUnit } from '../host/kubelet/unit.ts';
import { createSystemBus } from '../host/dbus/bus.ts';
import { createKubeletFinder } from '../host/kubelet/finder.ts';
import { isKubeletUp } from '../host/kubelet/health.ts';
import { createLogin1 } from '../host/systemd/login1.ts';
import { openStateFiles } from '../host/files/state-files.ts';
import { SCHEDULED_FILE, watchScheduledFile } from '../host/systemd/scheduled-file.ts';
import { createSystemd, notifySystemd } from '../host/systemd/systemd1.ts';
import { createWatchdog } from '../host/systemd/watchdog.ts';
import { createKubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/access/cluster.ts';
import { createEventRecorder } from '../kube/events.ts';
import { createDirectoryWatch } from '../static-pods/watch.ts';
import type { Log } from '../telemetry/log.ts';
import { openAgentMetrics } from './notices/metrics.ts';
import { createAgent } from './loop.ts';
import { createAnnouncer } from './shutdown/announce.ts';
import { kernelBootIdOf, learnSoftReboots, markSoftReboot, readBootId } from './shutdown/boot-id.ts';
import { createManualRequests } from './static-pods/manual.ts';
import { createClusterParts } from './cluster-parts.ts';
import { createCluster } from './cluster/cluster.ts';
import type { AgentContext } from './context.ts';
import { openControlSocket } from './control/socket.ts';
import { createShutdownDetector } from './shutdown/detector.ts';
import { createHold } from './shutdown/lock.ts';
import { createLoopWatchdog, pulseEveryMs } from './watchdog.ts';
import { nodeNameOf } from './node-name.ts';
import { createKubeletRefusals } from './static-pods/kubelet-refusals.ts';
import { createKnownPods } from './drain/offline/known-pods.ts';
import { createOfflinePods } from './drain/offline/offline-pods.ts';
import { createDrainParts } from './drain/parts.ts';
import { createHooks } from './shutdown/hooks.ts';
import { markRunning, unmarkRunning } from './shutdown/unclean.ts';
import { openNoticeMemory } from './notices/memory.ts';
import { findNoticeSources } from './notices/sources.ts';
import { createNotices } from './notices/notices.ts';
import { readRecord } from './shutdown/record.ts';
import { createOtherLocks } from './shutdown/other-locks.ts';
import { createShutdownLock } from './shutdown/lock-kind.ts';
import { findStaticPods } from './static-pods/locator.ts';
import { createStaticPods } from './static-pods/static-pods.ts';
import { createControlDispatcher } from './control/handler.ts';
import { createWakeup } from './wakeup.ts';

/** A turn of the loop that takes longer hangs; each call of its own has a time-out far below. */
const PATIENCE_MS = 300_000;

/** A trigger holds over restarts of the agent, until it is taken back or the machine has gone down. */
function triggerOf(phase: Phase, bootId: string): string | undefined {
  if (phase.kind !== 'draining' && phase.kind !== 'released') return undefined;
  return phase.origin === 'trigger' && phase.bootId === bootId ? phase.reason : undefined;
}

/** What the agent needs from the process. */
export interface AgentDependencies {
  readonly clock: Clock;
  readonly log: Log;
  /** What the firmware says of this machine. */
  readonly readMachineFacts: (signal: AbortSignal) => Promise<MachineFacts>;
}

/**
 * Builds the agent from its configuration and runs it. Throws for what a person has to put right before it can run: a bad
 * kubeconfig, a missing static pod directory, a second agent, a damaged journal.
 */
export async function runAgent(
  config: AgentConfig,
  { clock, log, readMachineFacts }: AgentDependencies,
  stop: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  const access = config.kubeconfig === '' ? undefined : await loadClusterAccess(config.kubeconfig);
  const nodeName = nodeNameOf(config, access);
  const lifetime = new AbortController();
  using _lifetime = {
    [Symbol.dispose]: () => {
      lifetime.abort();
    },
  };
  const living = AbortSignal.any([signal, lifetime.signal]);
  const bus = config.lock === 'none' ? undefined : createSystemBus({ log, clock }, living);
  const host = bus === undefined ? undefined : { login1: createLogin1(bus), systemd: createSystemd(bus) };
  const kubelets = createKubeletFinder({
    scope: { kubeconfig: config.kubeconfig, nodeName },
    systemd: host?.systemd,
    unit: config.kubeletUnit,
    onRefused: createKubeletRefusals(log, monotonicNow).tell,
  });
  const find = kubelets.config;
  const state = await openStateFiles({ directory: config.stateDirectory, runDirectory: config.runDirectory });
  const located = await findStaticPods(config, state, nodeName, find, log, signal);

  const waker = createWakeup(clock);
  const wake = (): void => {
    waker.notify();
  };
  const byHand = createManualRequests();
  const desk = createControlDispatcher(byHand, log, wake);
  // It also keeps a second agent out: from here on nobody else writes.
  await using _socket = await openControlSocket(
    config.runDirectory,
    (request) => desk.handle(request),
    config.controlGroup,
  );

  const recorded = await readRecord(state, (error) => {
    log.error({ reason: describeError(error) }, 'starting without the record');
  });
  const keeper = await located.open();

  host?.login1.onPrepareForShutdown(wake);
  host?.login1.onScheduleChange(wake);
  bus?.onReconnect(wake);
  if (host !== undefined) watchScheduledFile(SCHEDULED_FILE, wake, log, living);
  if (host !== undefined) await learnSoftReboots(host.systemd, config.runDirectory, signal);
  const bootId = await readBootId(config);
  const record = {
    ...recorded,
    phase: phaseAtStart(recorded.phase, keeper.store().mover.parkSteps().values(), bootId),
  };
  const wentDownUnderAgent = await markRunning(state, bootId);
  const triggered = triggerOf(record.phase, bootId);
  const leadMs = config.scheduledShutdownLeadSec * 1000;
  const goingDown = createShutdownDetector({ host, triggered, leadMs, clock, log });
  const { leadSec, rebalance, freeze } = config.cloud;
  const metrics = await openAgentMetrics(config.metricsAddress, log);
  const notices = createNotices({
    observer: metrics.notices,
    sources: (until) => findNoticeSources({ config, clock, log, readMachineFacts }, until),
    options: { leadMs: leadSec * 1000, rebalance, freeze },
    memory: await openNoticeMemory(state, bootId, log),
    clock,
    log,
    onChange: wake,
  });

  const client = access === undefined ? undefined : createKubeClient(access, 'nodemaint-agent');
  const parts = client === undefined ? undefined : { client, clock, log, nodeName, onChange: wake };
  const endsWithBoot = config.onBoot === 'complete' ? kernelBootIdOf(bootId) : undefined;
  const cluster = parts === undefined ? undefined : createCluster(parts, endsWithBoot);
  const events = client === undefined ? undefined : createEventRecorder('nodemaint-agent', { client, clock, log });
  const runtime = createContainerRuntime(config.containerRuntimeEndpoint);
  const knownPods = createKnownPods({ state, nodeName, client, clock, log });
  const kubelet =
    host === undefined || config.kubeletUnit === ''
      ? undefined
      : createKubeletUnit(host.systemd, {
          choose: async (look) => chooseKubeletUnit(config.kubeletUnit, await kubelets.home(look)),
          state,
          bootId,
        });
  const alive = (): void => {
    pulse.alive();
  };
  const staticPods = createStaticPods({
    store: () => keeper.store(),
    nodeName,
    bootId,
    runtime,
    kubeletUp: (look) => isKubeletUp(config.kubeletHealthz, find, look),
    kubeletStopped: async () => (await kubelet?.isStopped()) === true,
    clock,
    log,
  });
  const offlinePods =
    kubelet === undefined
      ? undefined
      : createOfflinePods({ runtime, kubelet, knownPods, clock, log, onChange: wake }, living);
  const clusterParts = createClusterParts(cluster, parts, runtime, living);
  const context: AgentContext = {
    config,
    state,
    nodeName,
    bootId,
    server: access?.server.origin ?? '',
    clock,
    log,
    wakeup: waker,
    hold: createHold({ kind: config.lock, lock: createShutdownLock(config, host, log, wake), host, clock, log }),
    otherLocks: createOtherLocks({ host, clock, log }),
    detector: goingDown,
    notices,
    hooks: createHooks(
      { directory: config.hooksDirectory, timeoutMs: config.hookTimeoutSec * 1000, nodeName },
      { clock, log, alive },
    ),
    cluster,
    client,
    knownPods,
    offlinePods,
    runtime,
    ...clusterParts,
    drain: createDrainParts(
      { pods: offlinePods, staticPods, drainPlan: config.drainPlan, clock },
      { cluster, interceptor: clusterParts.interceptor, dependencies: parts },
      living,
    ),
    manualRequests: byHand,
    journal: { problem: () => keeper.store().mover.problem(), retry: () => keeper.store().mover.retry() },
    locateStaticPods: (look) => keeper.relocate(look),
    directoryWatch: createDirectoryWatch(() => keeper.store().paths.staticPodPath, wake),
    staticPods,
    warnings: () => keeper.warnings(),
    notify: async (status) => {
      await notifySystemd({ READY: '1', STATUS: status }, signal);
    },
    announce: createAnnouncer({ nodeName, events, wall: host !== undefined, log }, living),
    alive,
  };
  const watchdog = createWatchdog();
  const pulse = createLoopWatchdog(
    {
      everyMs: pulseEveryMs(process.env['WATCHDOG_USEC']),
      patienceMs: PATIENCE_MS,
      beat: async (until) => {
        await watchdog.beat(until);
        await context.hold.beat();
      },
    },
    clock,
    monotonicNow,
  );
  const agent = createAgent(context, record);
  desk.serve({
    status: () => agent.status(),
    release: (reason) => {
      agent.release(reason);
    },
    trigger: (reason, deadlineMs) => {
      goingDown.trigger(reason);
      notices.limit(deadlineMs === undefined ? undefined : clock.now() + deadlineMs);
    },
  });
  // Where a shutdown was held, its phase tells how that ended.
  if (wentDownUnderAgent && record.phase.kind === 'watching') context.announce(uncleanShutdownEvent(nodeName));
  const { staticPodPath, parkedPath } = located.paths;
  log.info({ node: nodeName, server: context.server, staticPodPath, parkedPath }, 'agent started');
  const serving = metrics.serve(() => cluster?.synced() !== false, living);
  const running = Promise.all([
    cluster?.run(living),
    events?.run(living),
    pulse.run(living),
    notices.run(living),
    serving,
  ]);
  try {
    await agent.run(stop, signal);
    if (host !== undefined && !signal.aborted) await markSoftReboot(host.systemd, config.runDirectory, signal);
    await unmarkRunning(state);
  } finally {
    lifetime.abort();
    await running;
    await context.directoryWatch.set(false);
    client?.close();
    runtime.close();
  }
}
