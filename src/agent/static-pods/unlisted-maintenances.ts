import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import { reachesStaticPods } from '../../decide/maintenance/drain-plan.ts';
import { drainsOfNode, soleNodeOf } from '../../decide/maintenance/maintenance.ts';
import { holdsUnrecorded, releasingMaintenances, type RetentionFacts } from '../../decide/static-pod/parked.ts';
import { describeError } from '../../errors.ts';
import { NODE_MAINTENANCES, objectPath, sendForObject } from '../../kube/resource.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { ClusterDependencies } from '../cluster/dependencies.ts';
import type { NodeMaintenances } from '../cluster/maintenance-watch.ts';
import type { OwnNode } from '../cluster/own-node.ts';
import type { StaticPodView } from './view.ts';

/** Finds the maintenances that have this node although their status does not record it. */
export interface UnrecordedMaintenances {
  /**
   * Those among the maintenances that would give parked manifests back now. One that cannot be asked about is among them:
   * restored too early, a manifest would start a pod in the middle of a maintenance.
   */
  find(
    view: Pick<StaticPodView, 'parked'>,
    retention: RetentionFacts,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>>;
}

/** For so long an answer counts; the questions are asked only while a manifest would be given back. */
const MAX_AGE_MS = 5_000;
/** A read that takes longer ends: the loop must not wait for it. */
const READ_MS = 2_000;

interface Reading {
  /** On the monotonic clock. */
  readonly at: number;
  readonly found: NodeMaintenance | undefined;
}

function drainsStaticPods(maintenance: NodeMaintenance, nodeName: string): boolean {
  return drainsOfNode([maintenance], nodeName).some(({ drainTargets }) => reachesStaticPods(drainTargets));
}

/** Creates the search for the node of `dependencies`; nothing is asked before the first call. */
export function createUnrecordedMaintenances(
  { client, clock, log, nodeName }: ClusterDependencies,
  maintenances: Pick<NodeMaintenances, 'get' | 'watchesAll'>,
  ownNode: OwnNode,
): UnrecordedMaintenances {
  const readings = new Map<string, Reading>();
  const warnOnce = createLogOnce((reason) => {
    log.warn({ reason }, 'cannot ask whether a maintenance still has this node, its static pods wait');
  });

  /** The copies of maintenances that do not record this node are cut down to their names. */
  const readWhole = async (name: string, signal: AbortSignal): Promise<NodeMaintenance | undefined> => {
    const known = readings.get(name);
    if (known !== undefined && clock.monotonic() - known.at < MAX_AGE_MS) return known.found;
    const path = objectPath(NODE_MAINTENANCES, { name });
    const found = await sendForObject<NodeMaintenance>(client, { method: 'GET', path }, [404], signal);
    readings.set(name, { at: clock.monotonic(), found });
    return found;
  };

  /** Whether it has the node although its status does not record that. */
  const selects = async (whole: NodeMaintenance | undefined, signal: AbortSignal): Promise<boolean> => {
    const node = await ownNode.observe(MAX_AGE_MS, signal);
    if (node.kind === 'unknown') return true;
    return whole !== undefined && holdsUnrecorded(whole, node.kind === 'present' ? node.node : undefined);
  };

  const holds = async (name: string, signal: AbortSignal): Promise<boolean> => {
    if (!maintenances.watchesAll()) {
      // What the note on the Node says may be late: the maintenance itself tells whether it still drains static pods here.
      const whole = await readWhole(name, signal);
      const isRecorded = nodeStatusOf(whole?.status, nodeName) !== undefined;
      return isRecorded && whole !== undefined ? drainsStaticPods(whole, nodeName) : await selects(whole, signal);
    }
    const copy = maintenances.get(name);
    if (copy === undefined) return false;
    if (nodeStatusOf(copy.status, nodeName) !== undefined) return false;
    return await selects(soleNodeOf(copy) === nodeName ? copy : await readWhole(name, signal), signal);
  };

  return {
    find: async ({ parked }, retention, outer) => {
      const names = releasingMaintenances(parked, retention);
      for (const name of readings.keys()) if (!names.includes(name)) readings.delete(name);
      const signal = AbortSignal.any([outer, AbortSignal.timeout(READ_MS)]);
      const found = new Set<string>();
      for (const name of names) {
        try {
          if (await holds(name, signal)) found.add(name);
          warnOnce(undefined);
        } catch (error) {
          outer.throwIfAborted();
          found.add(name);
          warnOnce(describeError(error));
        }
      }
      return found;
    },
  };
}
