import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import { reachesStaticPods } from '../../decide/maintenance/drain-plan.ts';
import { drainsOfNode } from '../../decide/maintenance/maintenance.ts';
import { holdsUnrecorded, releasingMaintenances, type RetentionFacts } from '../../decide/static-pod/parked.ts';
import { describeError } from '../../errors.ts';
import { NODE_MAINTENANCES, objectPath } from '../../kube/resource.ts';
import { sendForObject } from '../../kube/request.ts';
import { createWarnOnce, type LogOnce } from '../../telemetry/log-once.ts';
import type { ClusterDependencies } from '../cluster/dependencies.ts';
import type { NodeMaintenances } from '../cluster/maintenance-watch.ts';
import type { OwnNode } from '../cluster/own-node.ts';
import type { StaticPodView } from './view.ts';

/** For so long an answer counts; the questions are asked only while a manifest would be given back. */
const MAX_AGE_MS = 5_000;
/** A read that takes longer ends: the loop must not wait for it. */
const READ_MS = 2_000;

interface Reading {
  /** On the monotonic clock. */
  readonly at: number;
  readonly found: NodeMaintenance | undefined;
}

/** Finds the maintenances that have this node although what is known of their status does not say that. */
export class UnrecordedMaintenances {
  readonly #dependencies: ClusterDependencies;
  readonly #maintenances: Pick<NodeMaintenances, 'get' | 'watchesAll'>;
  readonly #ownNode: Pick<OwnNode, 'observe'>;
  readonly #readings = new Map<string, Reading>();
  readonly #warnOnce: LogOnce;

  /** Nothing is asked before the first call. */
  constructor(
    dependencies: ClusterDependencies,
    maintenances: Pick<NodeMaintenances, 'get' | 'watchesAll'>,
    ownNode: Pick<OwnNode, 'observe'>,
  ) {
    this.#dependencies = dependencies;
    this.#maintenances = maintenances;
    this.#ownNode = ownNode;
    this.#warnOnce = createWarnOnce(
      dependencies.log,
      'cannot ask whether a maintenance still has this node, its static pods wait',
    );
  }

  /**
   * Those among the maintenances that would give parked manifests back now. One that cannot be asked about is among them:
   * restored too early, a manifest would start a pod in the middle of a maintenance.
   */
  async find(
    { parked }: Pick<StaticPodView, 'parked'>,
    retention: RetentionFacts,
    outer: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const names = releasingMaintenances(parked, retention);
    for (const name of this.#readings.keys()) if (!names.includes(name)) this.#readings.delete(name);
    const signal = AbortSignal.any([outer, AbortSignal.timeout(READ_MS)]);
    const found = new Set<string>();
    for (const name of names) {
      try {
        if (await this.#holds(name, signal)) found.add(name);
        this.#warnOnce(undefined);
      } catch (error) {
        outer.throwIfAborted();
        found.add(name);
        this.#warnOnce(describeError(error));
      }
    }
    return found;
  }

  async #holds(name: string, signal: AbortSignal): Promise<boolean> {
    const { nodeName } = this.#dependencies;
    // What the note on the Node says may be late: the maintenance itself tells whether it still drains static pods here.
    const whole = this.#maintenances.watchesAll() ? this.#maintenances.get(name) : await this.#read(name, signal);
    if (whole === undefined) return false;
    if (nodeStatusOf(whole.status, nodeName) !== undefined) {
      return drainsOfNode([whole], nodeName).some(({ drainTargets }) => reachesStaticPods(drainTargets));
    }
    const own = await this.#ownNode.observe(MAX_AGE_MS, signal);
    return own.kind === 'unknown' || holdsUnrecorded(whole, own.kind === 'present' ? own.node : undefined);
  }

  async #read(name: string, signal: AbortSignal): Promise<NodeMaintenance | undefined> {
    const { client, clock } = this.#dependencies;
    const known = this.#readings.get(name);
    if (known !== undefined && clock.monotonic() - known.at < MAX_AGE_MS) return known.found;
    const path = objectPath(NODE_MAINTENANCES, { name });
    const found = await sendForObject<NodeMaintenance>(client, { method: 'GET', path }, [404], signal);
    this.#readings.set(name, { at: clock.monotonic(), found });
    return found;
  }
}
