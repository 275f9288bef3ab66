import { effectiveDrainPlan } from '../../decide/drain/plan.ts';
import { stageOf } from '../../decide/maintenance/maintenance.ts';
import { isNamed, type Phase } from '../../decide/shutdown/phase.ts';
import { describeError } from '../../errors.ts';
import type { AgentContext } from '../context.ts';

/** Creates the NodeMaintenance of a shutdown in cluster mode, and deletes those of earlier shutdowns that are over. */
export async function ensureMaintenance(context: AgentContext, phase: Phase, signal: AbortSignal): Promise<void> {
  const { cluster, log } = context;
  if (cluster === undefined || phase.kind !== 'draining' || phase.mode !== 'cluster') return;
  const { maintenance: name, reason, deadline } = phase;
  try {
    if (cluster.state(name) === 'open') await cluster.confirm(name, signal);
    if (cluster.state(name) !== 'absent') return;
    // In order and whole, as the API wants it: then it is accepted also by an API server that has just started.
    const drainPlan = effectiveDrainPlan(context.config.drainPlan);
    await cluster.create({ name, reason, stage: 'Drain', drainPlan, deadline }, signal);
    for (const old of cluster.own()) {
      if (old.metadata.name !== name && stageOf(old) === 'Complete') await cluster.remove(old, signal);
    }
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ maintenance: name, reason: describeError(error) }, 'cannot create the maintenance yet');
  }
}

/** Deletes what a shutdown left behind, where that is configured; returns whether that is done. */
export async function removeLeftovers(context: AgentContext, phase: Phase, signal: AbortSignal): Promise<boolean> {
  const { cluster, config, log } = context;
  if (cluster === undefined || !config.removeFailedPods) return true;
  if (phase.kind === 'draining' || phase.kind === 'released') return false;
  try {
    const pods = await cluster.removeFailedPods(signal);
    if (pods.length > 0) log.info({ pods }, 'removed failed pods of the shutdown');
    return true;
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ reason: describeError(error) }, 'cannot remove the failed pods of the shutdown yet');
    return false;
  }
}

/**
 * Completes the maintenances that this node's agent made and whose shutdown is over: after the boot by policy, after a
 * cancellation always. What they took from the cluster (cordon, requests, gates) the controller then gives back.
 */
export async function completeOwn(context: AgentContext, phase: Phase, signal: AbortSignal): Promise<void> {
  const { cluster, config, log } = context;
  if (cluster === undefined || phase.kind === 'draining' || phase.kind === 'released') return;
  for (const maintenance of cluster.own()) {
    const { name } = maintenance.metadata;
    const canceled = phase.kind === 'recovering' && phase.cause === 'canceled' && isNamed(phase, name);
    if (stageOf(maintenance) === 'Complete' || (config.onBoot === 'wait' && !canceled)) continue;
    try {
      await cluster.complete(maintenance, signal);
    } catch (error) {
      signal.throwIfAborted();
      log.warn({ maintenance: name, reason: describeError(error) }, 'cannot complete the maintenance yet');
    }
  }
}
