import path from 'node:path';
import process from 'node:process';
import type { AgentConfig } from '../config/schema.ts';
import type { KubeletFacts } from '../decide/kubelet-config.ts';
import { chooseKubeletUnit } from '../decide/kubelet-home.ts';
import { wentDownUnasked } from '../decide/phase-news.ts';
import type { MachineFacts } from '../decide/provider.ts';
import type { Phase } from '../decide/shutdown-phase.ts';
import { describeError } from '../errors.ts';
import { type Clock, monotonicNow } from '../host/clock.ts';
import { createContainerRuntime } from '../host/cri.ts';
import { findKubeletHome } from '../host/kubelet-home.ts';
import { createKubeletUnit } from '../host/kubelet-unit.ts';
import { createSystemBus } from '../host/dbus.ts';
import { createChildLock, createNoLock, createUnitLock, type ShutdownLock } from '../host/inhibitor.ts';
import { findKubelet } from '../host/kubelet-config.ts';
import { isKubeletUp } from '../host/kubelet-health.ts';
import { createLogin1, type Login1 } from '../host/login1.ts';
import { SCHEDULED_FILE, watchScheduledFile } from '../host/scheduled-file.ts';
import { createSystemd, notifySystemd, type Systemd } from '../host/systemd.ts';
import { createKubeClient } from '../kube/client.ts';
import { loadClusterAccess } from '../kube/config.ts';
import { createEventRecorder } from '../kube/events.ts';
import { createDirectoryWatch } from '../static-pods/watch.ts';
import type { Log } from '../telemetry/log.ts';
import { openAgentMetrics } from './agent-metrics.ts';
import { createAgent } from './agent.ts';
import { createAnnouncer } from './announce.ts';
import { kernelBootIdOf, learnSoftReboots, markSoftReboot, readBootId } from './boot.ts';
import { createByHand } from './by-hand.ts';
import { createClusterParts } from './cluster-parts.ts';
import { createCluster } from './cluster.ts';
import type { AgentContext } from './context.ts';
import { controlSocketPath, openControlSocket } from './control.ts';
import { createGoingDown } from './going-down.ts';
import { createHold } from './hold.ts';
import { createPulse, pulseEveryMs } from './pulse.ts';
import { nodeNameOf } from './identity.ts';
import { createKnownPods } from './known-pods.ts';
import { createLocalDrainer } from './local-drain.ts';
import { createHooks } from './hooks.ts';
import { markRunning, unmarkRunning } from './last-boot.ts';
import { openNoticeMemory } from './notice-memory.ts';
import { findNoticeSources } from './notice-sources.ts';
import { createNotices } from './notices.ts';
import { readRecord } from './record.ts';
import { findStaticPods } from './static-pod-keeper.ts';
import { createStaticPods } from './static-pods.ts';
import { createVerbDesk } from './verbs.ts';
import { createWaker } from './waker.ts';

/** A turn of the loop that takes longer hangs; each call of its own has a time-out far below. */
const PATIENCE_MS = 300_000;

interface Host {
  readonly login1: Login1;
  readonly systemd: Systemd;
}

/** A trigger holds over restarts of the agent, until it is taken back or the machine has gone down. */
function triggerOf(phase: Phase, bootId: string): string | undefined {
  if (phase.kind !== 'draining' && phase.kind !== 'released') return undefined;
  return phase.origin === 'trigger' && phase.bootId === bootId ? phase.reason : undefined;
}

function createLock(config: AgentConfig, host: Host | undefined, log: Log, onLost: () => void): ShutdownLock {
  if (host === undefined || config.lock === 'none') return createNoLock();
  if (config.lock === 'child') return createChildLock({ login1: host.login1, log, onLost });
  return createUnitLock({ ...host, log, heartbeatPath: path.join(config.runDirectory, 'alive') });
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
  const find = async (look: AbortSignal): Promise<KubeletFacts | undefined> =>
    await findKubelet({ kubeconfig: config.kubeconfig, nodeName }, look);
  const located = await findStaticPods(config, nodeName, find, log, signal);

  const waker = createWaker(clock);
  const wake = (): void => {
    waker.wake();
  };
  const lifetime = new AbortController();
  const living = AbortSignal.any([signal, lifetime.signal]);
  const byHand = createByHand();
  const desk = createVerbDesk(byHand, log, wake);
  // It also keeps a second agent out: from here on nobody else writes.
  await using _socket = await openControlSocket(
    controlSocketPath(config.runDirectory),
    (request) => desk.handle(request),
    config.controlGroup,
  );

  const record = await readRecord(config.stateDirectory, (error) => {
    log.error({ reason: describeError(error) }, 'starting without the record');
  });
  const keeper = await located.open();

  const bus = config.lock === 'none' ? undefined : createSystemBus({ log, clock }, living);
  const host = bus === undefined ? undefined : { login1: createLogin1(bus), systemd: createSystemd(bus) };
  host?.login1.onPrepareForShutdown(wake);
  host?.login1.onScheduleChange(wake);
  bus?.onReconnect(wake);
  if (host !== undefined) watchScheduledFile(SCHEDULED_FILE, wake, log, living);
  if (host !== undefined) await learnSoftReboots(host.systemd, config.runDirectory, signal);
  const bootId = await readBootId(config);
  const wentDownUnderAgent = await markRunning(config.stateDirectory, bootId);
  const triggered = triggerOf(record.phase, bootId);
  const leadMs = config.scheduledShutdownLeadSec * 1000;
  const goingDown = createGoingDown({ host, triggered, leadMs, clock, log });
  const { leadSec, rebalance, freeze } = config.cloud;
  const metrics = await openAgentMetrics(config.metricsAddress, log);
  const notices = createNotices({
    observer: metrics.notices,
    sources: (until) => findNoticeSources({ config, clock, log, readMachineFacts }, until),
    options: { leadMs: leadSec * 1000, rebalance, freeze },
    memory: await openNoticeMemory(config.stateDirectory, bootId, log),
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
  const knownPods = createKnownPods({ stateDirectory: config.stateDirectory, nodeName, client, clock, log });
  const kubelet =
    host === undefined || config.kubeletUnit === ''
      ? undefined
      : createKubeletUnit(host.systemd, {
          choose: async (look) =>
            chooseKubeletUnit(
              config.kubeletUnit,
              await findKubeletHome({ kubeconfig: config.kubeconfig, nodeName }, look),
            ),
          directory: config.stateDirectory,
          bootId,
        });
  const context: AgentContext = {
    config,
    nodeName,
    bootId,
    server: access?.server.origin ?? '',
    clock,
    log,
    waker,
    hold: createHold({ kind: config.lock, lock: createLock(config, host, log, wake), host, clock, log }),
    goingDown,
    notices,
    hooks: createHooks(
      { directory: config.hooksDirectory, timeoutMs: config.hookTimeoutSec * 1000, nodeName },
      { clock, log },
    ),
    cluster,
    client,
    knownPods,
    localDrain:
      kubelet === undefined
        ? undefined
        : createLocalDrainer({ runtime, kubelet, knownPods, clock, log, onChange: wake }, living),
    runtime,
    ...createClusterParts(cluster, parts, runtime, living),
    byHand,
    locateStaticPods: (look) => keeper.relocate(look),
    directoryWatch: createDirectoryWatch(() => keeper.store().paths.staticPodPath, wake),
    staticPods: createStaticPods({
      store: () => keeper.store(),
      nodeName,
      bootId,
      runtime,
      kubeletUp: (look) => isKubeletUp(config.kubeletHealthz, find, look),
      kubeletStopped: async () => (await kubelet?.isStopped()) === true,
      clock,
      log,
    }),
    warnings: () => keeper.warnings(),
    notify: async (status) => {
      await notifySystemd({ READY: '1', STATUS: status }, signal);
    },
    announce: createAnnouncer({ nodeName, events, wall: host !== undefined, log }, living),
    alive: () => {
      pulse.alive();
    },
  };
  const pulse = createPulse(
    {
      everyMs: pulseEveryMs(process.env['WATCHDOG_USEC']),
      patienceMs: PATIENCE_MS,
      beat: async (until) => {
        await notifySystemd({ WATCHDOG: '1' }, until);
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
  if (wentDownUnderAgent && record.phase.kind === 'watching') context.announce(wentDownUnasked(nodeName));
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
    await unmarkRunning(config.stateDirectory);
  } finally {
    lifetime.abort();
    await running;
    await context.directoryWatch.set(false);
    client?.close();
    runtime.close();
  }
}
