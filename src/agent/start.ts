import type { AgentConfig } from '../config/schema.ts';
import type { KubeletScope } from '../decide/machine/kubelet-config.ts';
import { uncleanShutdownEvent } from '../decide/shutdown/events.ts';
import { phaseAtStart } from '../decide/shutdown/lost-record.ts';
import { describeError } from '../errors.ts';
import { within } from '../host/dbus/time-limit.ts';
import { openStateFiles } from '../host/files/state-files.ts';
import { createMemoryRelease } from '../host/memory-release.ts';
import { Agent } from './agent.ts';
import { ControlCommands } from './control-commands.ts';
import { openControlSocket } from './control/socket.ts';
import { createWakeup } from './iteration/wakeup.ts';
import { type AgentDependencies, type Foundation, type Opened, openMachine, openParts, watchMachine } from './parts.ts';
import { findNodeName, openApi, rememberNodeName } from './node-name.ts';
import { readRecord } from './phase/record.ts';
import { learnSoftReboots, markRunning, markSoftReboot, readBootId, unmarkRunning } from './shutdown/boot-id.ts';
import { createLockReconciler, createShutdownLock } from './shutdown/inhibitor-lock.ts';
import { findStaticPods } from './static-pods/find-directory.ts';
import { ManualRequests } from './static-pods/manual-requests.ts';

/** The connections to the cluster wait so long at most for the first attempt to take the lock, as where the bus hangs. */
const LOCK_FIRST_MS = 2_000;

/** Runs the loop, and everything beside it, which ends with `lifetime` after the loop. */
async function runBeside(
  { parts, watchdog, events, metrics }: Opened,
  agent: Agent,
  loop: () => Promise<void>,
  lifetime: { readonly end: AbortController; readonly living: AbortSignal },
): Promise<void> {
  const { cluster, clock, notices, directoryWatch, runtime, story } = parts;
  const { end, living } = lifetime;
  const isReady = (): boolean => cluster?.maintenances.synced() !== false;
  const running = Promise.all([
    cluster?.maintenances.run(living),
    cluster?.presence.run(living),
    events?.run(living),
    watchdog.run(living),
    notices.run(living),
    story.run(living),
    metrics.serve({ isReady, status: () => agent.status(), now: () => clock.now() }, living),
  ]);
  try {
    await loop();
  } finally {
    end.abort();
    await running;
    await directoryWatch.set(false);
    cluster?.client.close();
    runtime.close();
  }
}

/**
 * Takes the lock before anything that it does not need, because until then a shutdown would not wait; not where this boot's
 * shutdown has been released already. Opens the parts meanwhile, and runs them. Where they cannot be opened, the lock is given back.
 */
async function runUnderLock(
  foundation: Foundation,
  control: ControlCommands,
  stop: AbortSignal,
  end: AbortController,
): Promise<void> {
  const { api, bootId, clock, config, lock, log, machine, nodeName, record, signal, state, living } = foundation;
  const { phase } = record;
  const isLetGo = phase.kind === 'released' && phase.bootId === bootId;
  const lockTried = isLetGo ? Promise.resolve() : lock.reconcile({ kind: 'watching' }, signal).catch(() => undefined);
  let opened: Opened;
  let wasUnclean: boolean;
  try {
    wasUnclean = await markRunning(state, bootId);
    opened = await openParts(foundation);
  } catch (error) {
    await lockTried;
    // Nobody would give it back; in mid-drain it stays for the next agent, as always.
    if (phase.kind === 'watching') await lock.release(signal);
    throw error;
  }
  const agent = new Agent(opened.parts, record, createMemoryRelease(clock, globalThis.gc, living));
  control.serve({ agent, detector: opened.parts.detector, living });
  // Where a shutdown was held, its phase tells how that ended.
  if (wasUnclean && phase.kind === 'watching') opened.parts.announce(uncleanShutdownEvent(nodeName));
  const { staticPodPath, parkedPath } = foundation.locator.store().paths;
  log.info({ node: nodeName, server: api?.access.server?.origin ?? '', staticPodPath, parkedPath }, 'agent started');
  const late = (): Error => new Error('the lock is not taken yet');
  await within(clock, { ms: LOCK_FIRST_MS, work: lockTried, late }, living).catch(() => undefined);
  await rememberNodeName(state, nodeName);
  const loop = async (): Promise<void> => {
    await agent.run(stop, signal);
    if (machine.host !== undefined && !signal.aborted) {
      await markSoftReboot(machine.host.systemd, config.runDirectory, signal);
    }
    await unmarkRunning(state);
  };
  await runBeside(opened, agent, loop, { end, living });
}

/**
 * Builds the agent from its configuration and runs it. Throws what a person has to put right before it can run: CONFIG_INVALID,
 * a missing static pod directory, a second agent, a damaged journal.
 * Stop order: the loop ends, the watches end, the control socket closes.
 */
export async function runAgent(
  config: AgentConfig,
  dependencies: AgentDependencies,
  stop: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = dependencies;
  const { runDirectory, stateDirectory } = config;
  const end = new AbortController();
  using _end = {
    [Symbol.dispose]: () => {
      end.abort();
    },
  };
  const living = AbortSignal.any([signal, end.signal]);
  const scope: KubeletScope = { kubeconfig: config.kubeconfig };
  const machine = openMachine(config, scope, dependencies, living);
  const { host, kubelets } = machine;
  const state = await openStateFiles({ directory: stateDirectory, runDirectory });
  const api = openApi(config.kubeconfig, dependencies.connect);
  const nodeName = await findNodeName({ config, api, kubelets, state }, signal);
  scope.nodeName = nodeName;
  const located = await findStaticPods({ config, state, find: kubelets.config, log }, nodeName, signal);
  const wakeup = createWakeup(clock);
  const manual = new ManualRequests();
  const control = new ControlCommands({ manual, wakeup, clock, log });
  // The socket keeps a second agent out: from here on no other one writes.
  await using _socket = await openControlSocket(runDirectory, (asked) => control.handle(asked));
  const recorded = await readRecord(state, (error) => {
    log.error({ reason: describeError(error) }, 'starting without the record');
  });
  const locator = await located.open();
  watchMachine(machine, wakeup.notify, log, living);
  const shutdownLock = createShutdownLock(config, host, log);
  const lock = createLockReconciler({ kind: config.lock, lock: shutdownLock, host, clock, log });
  if (host !== undefined) await learnSoftReboots(host.systemd, runDirectory, signal);
  const bootId = await readBootId(config);
  const phase = phaseAtStart(recorded.phase, locator.store().mover.parkSteps().values(), bootId);
  log.debug({ bootId, phase }, 'read the state of the agent before');
  const record = { ...recorded, phase };
  const known = { config, nodeName, bootId, record, api, machine, lock, state, locator, manual, wakeup };
  await runUnderLock({ ...dependencies, ...known, signal, living }, control, stop, end);
}
