import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import type { AgentConfig } from '../config/schema.ts';
import type { MachineFacts } from '../decide/provider.ts';
import type { Phase } from '../decide/shutdown-phase.ts';
import { describeError, NodemaintError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import { createContainerRuntime } from '../host/cri.ts';
import { createSystemBus } from '../host/dbus.ts';
import { createChildLock, createNoLock, createUnitLock, type ShutdownLock } from '../host/inhibitor.ts';
import { createLogin1, type Login1 } from '../host/login1.ts';
import { createSystemd, notifySystemd, type Systemd } from '../host/systemd.ts';
import { createKubeClient } from '../kube/client.ts';
import { type ClusterAccess, loadClusterAccess } from '../kube/config.ts';
import { readManifests } from '../static-pods/directory.ts';
import { createDisk } from '../static-pods/disk.ts';
import { createMover } from '../static-pods/mover.ts';
import { createDirectoryWatch } from '../static-pods/watch.ts';
import type { Log } from '../telemetry/log.ts';
import { createAgent } from './agent.ts';
import { createCluster } from './cluster.ts';
import type { AgentContext } from './context.ts';
import { controlSocketPath, openControlSocket } from './control.ts';
import { createGoingDown } from './going-down.ts';
import { createHooks } from './hooks.ts';
import { openNoticeMemory } from './notice-memory.ts';
import { findNoticeSources } from './notice-sources.ts';
import { createNotices } from './notices.ts';
import { readRecord } from './record.ts';
import { createStaticPods } from './static-pods.ts';
import { createWaker } from './waker.ts';

interface Host {
  readonly login1: Login1;
  readonly systemd: Systemd;
}

/** The node's name: configured, else of the identity system:node:NAME in the kubeconfig's certificate, else the host's. */
function nodeNameOf(config: AgentConfig, access: ClusterAccess | undefined): string {
  return config.nodeName ?? access?.nodeName ?? hostname().toLowerCase();
}

async function readBootId(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new NodemaintError(
      'CONFIG_INVALID',
      `cannot read the boot id ${file}: ${describeError(error)} (key "bootIdPath")`,
      {
        cause: error,
      },
    );
  }
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
  const bootId = await readBootId(config.bootIdPath);
  const access = config.kubeconfig === '' ? undefined : await loadClusterAccess(config.kubeconfig);
  const nodeName = nodeNameOf(config, access);
  const { invalid } = await readManifests(config.staticPodPath, nodeName, signal);
  for (const { reason } of invalid) log.warn({ reason }, 'ignoring a file that is no static pod manifest');

  const waker = createWaker(clock);
  const lifetime = new AbortController();
  const living = AbortSignal.any([signal, lifetime.signal]);
  let handler: () => unknown = () => ({ error: 'the agent is starting' });
  const control = {
    trigger: (_reason: string | undefined, _deadlineMs?: number): void => {
      throw new NodemaintError('CONTROL_SOCKET_UNAVAILABLE', 'the agent is starting; try again in a moment');
    },
  };
  await using _socket = await openControlSocket(
    controlSocketPath(config.runDirectory),
    async (request) => {
      if (request.verb === 'status') return handler();
      if (request.verb === 'trigger') control.trigger(request.reason, request.deadlineMs);
      else control.trigger(undefined);
      log.info(request, 'told over the control socket');
      waker.wake();
      return { done: request.verb };
    },
    config.controlGroup,
  );

  const record = await readRecord(config.stateDirectory, (error) => {
    log.error({ reason: describeError(error) }, 'starting without the record');
  });
  const parkedPath = config.parkedPath ?? path.join(path.dirname(config.staticPodPath), 'nodemaint-parked');
  const journalPath = path.join(config.stateDirectory, 'journal');
  const paths = { staticPodPath: config.staticPodPath, parkedPath, journalPath };
  const mover = createMover(paths, createDisk());
  await mover.recover();

  const bus = config.lock === 'none' ? undefined : createSystemBus({ log, clock }, living);
  const host = bus === undefined ? undefined : { login1: createLogin1(bus), systemd: createSystemd(bus) };
  const wake = (): void => {
    waker.wake();
  };
  host?.login1.onPrepareForShutdown(wake);
  bus?.onReconnect(wake);
  const goingDown = createGoingDown(host, triggerOf(record.phase, bootId), log);
  const { leadSec, rebalance, freeze } = config.cloud;
  const notices = createNotices({
    sources: (until) => findNoticeSources({ config, clock, log, readMachineFacts }, until),
    options: { leadMs: leadSec * 1000, rebalance, freeze },
    memory: await openNoticeMemory(config.stateDirectory, bootId, log),
    clock,
    log,
    onChange: wake,
  });
  control.trigger = (reason, deadlineMs) => {
    goingDown.trigger(reason);
    notices.limit(deadlineMs === undefined ? undefined : clock.now() + deadlineMs);
  };

  const client = access === undefined ? undefined : createKubeClient(access, 'nodemaint-agent');
  const cluster = client === undefined ? undefined : createCluster({ client, clock, log, nodeName, onChange: wake });
  const runtime = createContainerRuntime(config.containerRuntimeEndpoint);
  const context: AgentContext = {
    config,
    nodeName,
    bootId,
    server: access?.server.origin ?? '',
    clock,
    log,
    waker,
    lock: createLock(config, host, log, wake),
    goingDown,
    notices,
    hooks: createHooks(
      { directory: config.hooksDirectory, timeoutMs: config.hookTimeoutSec * 1000, nodeName },
      { clock, log },
    ),
    cluster,
    runtime,
    directoryWatch: createDirectoryWatch(config.staticPodPath, wake),
    staticPods: createStaticPods({ paths, nodeName, bootId, mover, runtime, clock, log }),
    notify: async (status) => {
      await notifySystemd({ READY: '1', STATUS: status }, signal);
    },
  };
  const agent = createAgent(context, record);
  handler = () => agent.status();
  log.info({ node: nodeName, server: context.server, staticPodPath: config.staticPodPath }, 'agent started');
  const watching = Promise.all([cluster?.run(living), notices.run(living)]);
  try {
    await agent.run(stop, signal);
  } finally {
    lifetime.abort();
    await watching;
    await context.directoryWatch.set(false);
    client?.close();
    runtime.close();
  }
}
