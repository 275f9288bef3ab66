/**
 * The node agent's one loop: read the machine, the cluster and the disk; decide the phase; act on it; wait for an event.
 * Everything is decided anew from what was read, so that a lost signal, a restart or a reboot changes nothing.
 * Stop order: the loop ends, the watches end, the control socket closes, the lock is released if nothing is held by it.
 */
import { randomInt } from 'node:crypto';
import { shutdownNames } from '../decide/maintenance/shutdown-maintenance.ts';
import { effectiveDrains, keepsParked, type RetentionFacts } from '../decide/static-pod/retention.ts';
import { phaseEventOf } from '../decide/shutdown/events.ts';
import { decidePhase, describePhase, isNamed, type Phase, type PhaseFacts } from '../decide/shutdown/phase.ts';
import { describeError, NodemaintError } from '../errors.ts';
import type { AgentContext } from './context.ts';
import { createHandOver } from './drain/offline/hand-over.ts';
import { keepNoticeCordon } from './notices/cordon.ts';
import { keepDeadline } from './drain/deadline.ts';
import { completeOwn, ensureMaintenance, removeLeftovers } from './cluster/shutdown-maintenance.ts';
import { type AgentRecord, writeRecord } from './shutdown/record.ts';
import type { StaticPodIntent } from './static-pods/static-pods.ts';
import { createStorage } from './storage.ts';
import { statusLine } from './control/status-line.ts';
import { buildStatus, type Turn } from './control/report.ts';
import type { AgentStatus } from './control/status.ts';

const BUSY_MS = 1_000;
/** Before a deadline every look counts. */
const HURRY_MS = 250;
const IDLE_MS = 60_000;
const STATUS_MS = 30_000;

/** A running agent. */
export interface Agent {
  status(): AgentStatus;
  /** Ends the drain at once, for an operator in a hurry; throws USAGE where no shutdown is held. */
  release(reason: string): void;
  /** Runs until `stop` is aborted and nothing is under way that only this agent can finish, or `signal` is aborted. */
  run(stop: AbortSignal, signal: AbortSignal): Promise<void>;
}

/** What the rules about parked manifests have to know. */
function parkingFacts(
  { cluster, config, clock }: AgentContext,
  phase: Phase,
  askingSinceBootMs: number,
): RetentionFacts {
  return {
    phase,
    onBoot: config.onBoot,
    clusterConfigured: cluster !== undefined,
    own: cluster?.own().map(({ metadata }) => metadata.name) ?? [],
    drains: cluster?.synced() === true ? cluster.drains() : undefined,
    apiSilent: clock.monotonic() - askingSinceBootMs >= config.apiWaitSec * 1000,
  };
}

/** Makes an agent from its parts. */
export function createAgent(context: AgentContext, initial: AgentRecord): Agent {
  const { config, clock, log, cluster, staticPods, hold, detector: goingDown } = context;
  const handOver = createHandOver(context);
  const storage = createStorage(context);
  let record = initial;
  let turn: Turn | undefined;
  let leftovers = true;
  let releaseReason: string | undefined;
  let toldAt = Number.NEGATIVE_INFINITY;
  let wasDrained = false;
  const startedAt = clock.now();
  const askingSinceBootMs = clock.monotonic();

  const save = async (next: AgentRecord): Promise<void> => {
    const previous = record.phase;
    // Memory counts: a disk that does not take the record must not keep a shutdown from going on.
    record = next;
    await writeRecord(context.state, next);
    if (next.phase === previous) return;
    log.info({ phase: next.phase }, describePhase(next.phase));
    const news = phaseEventOf(context.nodeName, previous, next.phase);
    if (news !== undefined) context.announce(news);
    toldAt = Number.NEGATIVE_INFINITY;
  };
  const status = (): AgentStatus =>
    buildStatus(context, { record, turn, startedAt, storageProblem: storage.problem() });
  /** systemd shows the state at each change, and while pods are waited for how it goes. */
  const tellSystemd = async (): Promise<void> => {
    const again = record.phase.kind === 'draining' ? STATUS_MS : Number.POSITIVE_INFINITY;
    if (clock.monotonic() - toldAt < again) return;
    toldAt = clock.monotonic();
    await context.notify(statusLine(status()));
  };

  /** One pass over the static pods; returns whether a local drain has nothing left. */
  const tendStaticPods = async (signal: AbortSignal): Promise<{ drained: boolean }> => {
    const { phase } = record;
    const view = await staticPods.observe(signal);
    const facts = parkingFacts(context, phase, askingSinceBootMs);
    const keepParked: StaticPodIntent['keepParked'] = (pod) =>
      keepsParked(pod.maintenance, facts) && !context.manualRequests.isWanted(pod);
    const saveTargets = (offlineTargets: AgentRecord['offlineTargets']): Promise<void> =>
      save({ ...record, offlineTargets });
    const leaving = await context.drain.step.pass({ record, view, retention: facts, keepParked, saveTargets }, signal);
    context.manualRequests.settle(view);
    const leave = context.manualRequests.withParks(view, leaving.leave);
    const shutdown = phase.kind === 'draining' ? phase.maintenance : undefined;
    const decision = await staticPods.decide(view, { ...leaving, leave, keepParked, shutdown }, signal);
    turn = { view, decision, waiting: leaving.waiting };
    // Before anything is moved: the API server may be one of the pods that leave.
    await context.interceptor?.report(view, decision.progress, signal);
    await staticPods.act(view, decision, shutdown, signal);
    await context.directoryWatch.set(view.parked.length > 0);
    if (!leaving.drained || leaving.left === undefined) return { drained: leaving.drained };
    releaseReason ??= leaving.left;
    return { drained: false };
  };

  const readFacts = async (drained: boolean, handedOver: boolean, signal: AbortSignal): Promise<PhaseFacts> => {
    const { phase } = record;
    const name = phase.kind === 'watching' ? '' : phase.maintenance;
    const parked = turn?.view.parked ?? [];
    const before = phase.kind === 'watching' ? [] : (phase.renamed?.from ?? []);
    const inUse = new Set([...parked.map(({ maintenance }) => maintenance), ...before, name]);
    const names = shutdownNames(context.nodeName).filter((each) => !inUse.has(each) && cluster?.isFree(each) !== false);
    return {
      now: clock.now(),
      sinceBootMs: clock.monotonic(),
      bootId: context.bootId,
      nodeName: context.nodeName,
      goingDown: context.notices.addTo(await goingDown.read(signal), phase),
      clusterConfigured: cluster !== undefined,
      askingSinceBootMs,
      apiWaitMs: config.apiWaitSec * 1000,
      release: releaseReason,
      maxHoldMs: config.maxHoldSec === undefined ? undefined : config.maxHoldSec * 1000,
      maintenance: cluster?.state(name) ?? 'absent',
      freeName: names[randomInt(Math.max(1, names.length))],
      apiSilentMs: context.drain.controller?.apiSilentMs() ?? 0,
      handedOver,
      drained,
      manifestsStuck: staticPods.stuck().size > 0,
      recovered:
        turn !== undefined &&
        !parked.some((pod) => pod.maintenance === '' || (phase.kind !== 'watching' && isNamed(phase, pod.maintenance))),
    };
  };

  const movePhase = async (drained: boolean, signal: AbortSignal): Promise<boolean> => {
    const before = record.phase;
    // In the cluster nobody could end the pods whose manifests cannot be moved.
    const handedOver = staticPods.stuck().size === 0 && (await handOver.attempt(record, signal));
    const next = decidePhase(before, await readFacts(drained, handedOver, signal));
    if (next === before) return false;
    if (next.kind === 'recovering') {
      goingDown.trigger(undefined);
      context.notices.limit(undefined);
      leftovers = true;
    }
    releaseReason = undefined;
    if (next.kind === 'draining' && (before.kind === 'watching' || before.maintenance !== next.maintenance)) {
      cluster?.forget(next.maintenance);
    }
    if (next.kind === 'draining' && before.kind === 'watching') await context.locateStaticPods(signal);
    const keepsTargets = next.kind === 'draining' || next.kind === 'released';
    await save({ phase: next, offlineTargets: keepsTargets ? record.offlineTargets : [] });
    await context.hooks.phaseChanged(before, next, signal);
    return true;
  };

  /** Whether the agent may end although it was asked to only now. */
  const mayStop = async (signal: AbortSignal): Promise<boolean> => {
    if (record.phase.kind !== 'draining') return true;
    // A restart or an upgrade in mid-drain ends this process only; systemd that stops all units waits for the drain.
    return !(await goingDown.managerStopping(signal));
  };

  /** One turn; returns whether the phase moved, so that the next turn follows at once. */
  const oneTurn = async (signal: AbortSignal): Promise<boolean> => {
    let moved = await movePhase(false, signal);
    await hold.keep(record.phase, signal);
    await context.otherLocks.reconcile(record.phase, signal);
    await context.notices.reconcile(record.phase, signal);
    if (record.phase.kind === 'watching' || record.phase.kind === 'recovering') {
      await context.offlinePods?.giveBack(signal);
      await context.knownPods.refresh(signal);
    }
    if (cluster !== undefined) {
      await ensureMaintenance(context, record.phase, signal);
      await keepDeadline(context, record.phase, signal);
      await context.overduePods?.reconcile(signal);
      await completeOwn(context, record.phase, signal);
      await keepNoticeCordon(context, signal);
      leftovers = leftovers && !(await removeLeftovers(context, record.phase, signal));
      const isDrained = effectiveDrains(parkingFacts(context, record.phase, askingSinceBootMs)).length > 0;
      if (isDrained && !wasDrained) await context.locateStaticPods(signal);
      wasDrained = isDrained;
      cluster.watchRequests(isDrained || context.drain.controller?.isBusy() === true);
    }
    const { drained } = await tendStaticPods(signal);
    moved = (await movePhase(drained, signal)) || moved;
    return moved;
  };

  const isBusy = (): boolean => {
    // Parked pods that have ended need no polling: the cluster's and the directory's watches wake the loop.
    const ending = turn?.decision.progress.some(({ state }) => state !== 'ended') === true;
    // What was done is to be seen, and shown.
    const acting = (turn?.decision.actions.length ?? 0) > 0;
    const tending = (cluster?.requests() ?? []).length > 0 || ending || acting;
    return record.phase.kind !== 'watching' || tending || context.drain.controller?.isBusy() === true;
  };

  const waitMs = (): number => {
    if (record.phase.kind === 'draining' && record.phase.deadline !== undefined) return HURRY_MS;
    const idleMs = (): number => Math.min(IDLE_MS, context.notices.dueInMs());
    return Math.min(isBusy() ? BUSY_MS : idleMs(), goingDown.beginsInMs());
  };

  return {
    status,
    release: (reason) => {
      if (record.phase.kind === 'released') return;
      if (record.phase.kind !== 'draining') {
        throw new NodemaintError('USAGE', `no shutdown is held on this node: ${describePhase(record.phase)}`);
      }
      releaseReason = reason;
    },
    run: async (stop, signal) => {
      // Before the first turn, which may have to wait for an API server.
      await context.notify(describePhase(record.phase));
      stop.addEventListener('abort', () => {
        context.wakeup.notify();
      });
      while (!signal.aborted) {
        let moved = false;
        context.alive();
        try {
          moved = await oneTurn(signal);
        } catch (error) {
          if (signal.aborted) break;
          log.error({ reason: describeError(error) }, 'turn of the loop failed, trying again');
        }
        if (await storage.retry()) toldAt = Number.NEGATIVE_INFINITY;
        await tellSystemd();
        if (stop.aborted && (await mayStop(signal))) break;
        if (!isBusy()) context.runtime.close();
        context.alive();
        if (!moved) await context.wakeup.wait(waitMs(), signal);
      }
      // In mid-drain the lock stays: the agent that is started next goes on, and without one the dead man's handle ends it.
      const done = record.phase.kind === 'watching' || record.phase.kind === 'released';
      if (done && !signal.aborted) await hold.release(signal);
    },
  };
}
