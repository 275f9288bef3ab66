/**
 * The node agent's one loop: read the machine, the cluster and the disk; decide the phase; act on it; wait for an event.
 * Everything is decided anew from what was read, so that a lost signal, a restart or a reboot changes nothing.
 * Stop order: the loop ends, the watches end, the control socket closes, the lock is released if nothing is held by it.
 */
import { isDeepStrictEqual } from 'node:util';
import { resolveDrain } from '../decide/drain-resolution.ts';
import { effectiveDrainPlan } from '../decide/drain-plan.ts';
import { countingDrains, keepsParked, type ParkingFacts } from '../decide/parking.ts';
import { decidePhase, describePhase, holdsLock, type Phase, type PhaseFacts } from '../decide/shutdown-phase.ts';
import type { StaticPodDecision } from '../decide/static-pods.ts';
import { describeError } from '../errors.ts';
import type { AgentContext } from './context.ts';
import { keepNoticeCordon } from './notice-cordon.ts';
import { keepDeadline, staticDeadlineOf } from './own-deadline.ts';
import { completeOwn, ensureMaintenance } from './own-maintenance.ts';
import { type AgentRecord, writeRecord } from './record.ts';
import { drainPodsOf, leaveByCluster, leaveByTargets, reportProgress, type StaticPodView } from './static-pods.ts';
import { buildStatus } from './status-view.ts';
import type { AgentStatus } from './status.ts';

const BUSY_MS = 1_000;
/** Before a deadline every look counts. */
const HURRY_MS = 250;
const IDLE_MS = 60_000;

/** What one turn of the loop saw and did, for the status. */
export interface Turn {
  readonly view: StaticPodView;
  readonly decision: StaticPodDecision;
}

/** A running agent. */
export interface Agent {
  status(): AgentStatus;
  /** Runs until `stop` is aborted and nothing is under way that only this agent can finish, or `signal` is aborted. */
  run(stop: AbortSignal, signal: AbortSignal): Promise<void>;
}

/** What the rules about parked manifests have to know. */
function parkingFacts({ cluster, config }: AgentContext, phase: Phase): ParkingFacts {
  return {
    phase,
    onBoot: config.onBoot,
    clusterConfigured: cluster !== undefined,
    own: cluster?.own().map(({ metadata }) => metadata.name) ?? [],
    drains: cluster?.synced() === true ? cluster.drains() : undefined,
  };
}

/** Makes an agent from its parts. */
export function createAgent(context: AgentContext, initial: AgentRecord): Agent {
  const { config, clock, log, cluster, staticPods, lock, goingDown } = context;
  let record = initial;
  let turn: Turn | undefined;
  let lockMessage = '';
  const startedAt = clock.now();

  const save = async (next: AgentRecord): Promise<void> => {
    const changed = next.phase !== record.phase;
    await writeRecord(config.stateDirectory, next);
    record = next;
    if (changed) {
      log.info({ phase: next.phase }, describePhase(next.phase));
      await context.notify(describePhase(next.phase));
    }
  };

  const keepLock = async (signal: AbortSignal): Promise<void> => {
    try {
      if (!holdsLock(record.phase)) {
        await lock.release(signal);
        lockMessage = 'released';
        return;
      }
      const outcome = await lock.acquire(signal);
      lockMessage = outcome.kind === 'held' ? 'held' : 'a shutdown is under way, no new lock is granted';
      await lock.heartbeat();
    } catch (error) {
      signal.throwIfAborted();
      const message = describeError(error);
      if (message !== lockMessage) log.error({ reason: message }, 'shutdown lock not held');
      lockMessage = message;
    }
  };

  /** One pass over the static pods; returns whether a local drain has nothing left. */
  const tendStaticPods = async (signal: AbortSignal): Promise<{ drained: boolean }> => {
    const { phase } = record;
    const view = await staticPods.observe(signal);
    const facts = parkingFacts(context, phase);
    let leave = cluster === undefined ? new Map() : leaveByCluster(view, cluster, countingDrains(facts));
    let drained = false;
    if (phase.kind === 'draining' && phase.mode === 'local') {
      const plan = effectiveDrainPlan(config.drainPlan);
      const decision = resolveDrain(plan, drainPodsOf(view), record.localTargets);
      if (!isDeepStrictEqual(decision.drainTargets, record.localTargets)) {
        await save({ ...record, localTargets: decision.drainTargets });
      }
      leave = leaveByTargets(view, decision.drainTargets, phase);
      drained = decision.drained;
    } else if (phase.kind === 'draining') drained = cluster?.isDrained(phase.maintenance) === true;
    const deadline = staticDeadlineOf(context, phase, view);
    if (deadline !== undefined && phase.kind === 'draining') {
      for (const [key, why] of leaveByTargets(view, deadline.due, phase)) leave.set(key, why);
    }
    const keepParked = (pod: { readonly maintenance: string }): boolean => keepsParked(pod.maintenance, facts);
    const decision = await staticPods.act(view, { leave, keepParked, graces: deadline?.graces ?? new Map() }, signal);
    turn = { view, decision };
    await context.directoryWatch.set(view.parked.length > 0);
    if (cluster !== undefined) {
      const reason = phase.kind === 'watching' ? 'see the NodeMaintenance' : phase.reason;
      await reportProgress(cluster, decision.progress, reason, signal);
    }
    return { drained };
  };

  const readFacts = async (drained: boolean, signal: AbortSignal): Promise<PhaseFacts> => {
    const { phase } = record;
    const name = phase.kind === 'watching' ? '' : phase.maintenance;
    const parked = turn?.view.parked ?? [];
    return {
      now: clock.now(),
      bootId: context.bootId,
      nodeName: context.nodeName,
      goingDown: context.notices.addTo(await goingDown.read(signal), phase),
      clusterConfigured: cluster !== undefined,
      askingSince: startedAt,
      apiWaitMs: config.apiWaitSec * 1000,
      maintenanceExists: cluster?.exists(name) === true,
      drained,
      recovered: turn !== undefined && !parked.some((pod) => pod.maintenance === name || pod.maintenance === ''),
    };
  };

  const movePhase = async (drained: boolean, signal: AbortSignal): Promise<boolean> => {
    const before = record.phase;
    const next = decidePhase(before, await readFacts(drained, signal));
    if (next === before) return false;
    if (next.kind === 'recovering') {
      goingDown.trigger(undefined);
      context.notices.limit(undefined);
    }
    const keepsTargets = next.kind === 'draining' || next.kind === 'released';
    await save({ phase: next, localTargets: keepsTargets ? record.localTargets : [] });
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
    await keepLock(signal);
    await context.notices.tend(record.phase, signal);
    if (cluster !== undefined) {
      await ensureMaintenance(context, record.phase, signal);
      await keepDeadline(context, record.phase, signal);
      await completeOwn(context, record.phase, signal);
      await keepNoticeCordon(context, signal);
      cluster.watchRequests(countingDrains(parkingFacts(context, record.phase)).length > 0);
    }
    const { drained } = await tendStaticPods(signal);
    moved = (await movePhase(drained, signal)) || moved;
    return moved;
  };

  const isBusy = (): boolean => {
    // Parked pods that have ended need no polling: the cluster's and the directory's watches wake the loop.
    const ending = turn?.decision.progress.some(({ state }) => state !== 'ended') === true;
    const tending = (cluster?.requests() ?? []).length > 0 || ending;
    return record.phase.kind !== 'watching' || tending;
  };

  const waitMs = (): number => {
    if (record.phase.kind === 'draining' && record.phase.deadline !== undefined) return HURRY_MS;
    return isBusy() ? BUSY_MS : Math.min(IDLE_MS, context.notices.dueInMs());
  };

  return {
    status: () => buildStatus(context, { record, turn, lockMessage, startedAt }),
    run: async (stop, signal) => {
      await context.notify(describePhase(record.phase));
      stop.addEventListener('abort', () => {
        context.waker.wake();
      });
      while (!signal.aborted) {
        let moved = false;
        try {
          moved = await oneTurn(signal);
        } catch (error) {
          if (signal.aborted) break;
          log.error({ reason: describeError(error) }, 'turn of the loop failed, trying again');
        }
        if (stop.aborted && (await mayStop(signal))) break;
        if (!isBusy()) context.runtime.close();
        if (!moved) await context.waker.wait(waitMs(), signal);
      }
      // In mid-drain the lock stays: the agent that is started next goes on, and without one the dead man's handle ends it.
      const done = record.phase.kind === 'watching' || record.phase.kind === 'released';
      if (done && !signal.aborted) await lock.release(signal);
    },
  };
}
