import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { maintenancesOfNode } from '../../decide/drain/self-drain.ts';
import { DEFAULT_EVICTION_SETTINGS, type EvictionSettings } from '../../decide/eviction/settings.ts';
import { type ControllerLife, WHY_SELF } from '../../decide/shutdown/drainer.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { isEffective, type RetentionFacts } from '../../decide/static-pod/parked.ts';
import type { NodeMaintenances } from '../cluster/maintenance-watch.ts';
import type { ControllerLiveness } from './controller-liveness.ts';
import type { GiveBack } from './uncordon-and-ungate.ts';
import type { IdleController } from './idle-controller.ts';

/** What decides, beside the phase, who drains the node. */
export interface ControllerObservation {
  readonly controller: ControllerLife;
  /** The maintenances of the node that are in progress and in effect. */
  readonly maintenances: readonly NodeMaintenance[];
}

/** Whether a controller can be counted on, as far as this agent has observed. */
export interface ControllerState {
  readonly kind: ControllerLife;
  /** For how long its Lease has been observed without a change, or it has been idle, in milliseconds. */
  readonly silentMs: number;
}

/** Observes whether a controller is alive, while the node is under maintenance or has something to be given back. */
export interface ControllerWatch {
  observe(retention: RetentionFacts, phase: Phase, signal: AbortSignal): Promise<ControllerObservation>;
  /** Forgets what was observed: the API server is given up for now. */
  suspend(): void;
  /** Whether the loop has to look again soon: somebody has to act, and it is not known to be a controller. */
  isBusy(): boolean;
  /** What was observed last; undefined while it does not matter. */
  state(): ControllerState | undefined;
  /** Whether still no controller can be counted on, by a Lease that is read now: two must not do the same step. */
  isAway(signal: AbortSignal): Promise<boolean>;
  /** Why the agent drains the node in the place of a controller. */
  whyAway(): string;
  /** The options of the controller that its evictions go by; what an idle one has written onto its Lease does not hold the node. */
  settings(): EvictionSettings;
  /** For how long the API server has not answered, in milliseconds; 0 where it has, or was not asked. */
  apiSilentMs(): number;
}

const OBSERVE_EVERY_MS = 2_000;
/** Nothing is known of the controller, and no maintenance of the node. */
export const NOTHING_KNOWN: ControllerObservation = { controller: 'unknown', maintenances: [] };

/** What shows whether a controller is alive, and whether it works. */
interface ControllerSigns {
  readonly liveness: Omit<ControllerLiveness, 'look'>;
  readonly idle: Pick<IdleController, 'look' | 'isIdle' | 'idleMs'>;
}

export function createControllerWatch(
  cluster: Pick<NodeMaintenances, 'synced' | 'list' | 'watchesAll' | 'wantAll' | 'holdAll'>,
  { liveness, idle }: ControllerSigns,
  giveBack: Pick<GiveBack, 'markForRevert' | 'find' | 'needsRevert' | 'leaveToController'>,
  nodeName: string,
): ControllerWatch {
  let need: 'none' | 'maintenance' | 'give-back' = 'none';
  return {
    observe: async (retention, phase, signal) => {
      if (!cluster.synced()) return NOTHING_KNOWN;
      const effective = cluster.list().filter(({ metadata }) => isEffective(metadata.name, retention));
      const maintenances = maintenancesOfNode(effective, nodeName);
      if (maintenances.length > 0) giveBack.markForRevert();
      else await giveBack.find(cluster.list(), signal);
      need = maintenances.length > 0 ? 'maintenance' : giveBack.needsRevert() ? 'give-back' : 'none';
      if (need === 'none') {
        liveness.forget();
        idle.look({ phase, life: 'unknown', isAnswered: true, maintenances });
        cluster.holdAll(idle.isIdle());
        return NOTHING_KNOWN;
      }
      const { kind: life } = await liveness.observe(OBSERVE_EVERY_MS, signal);
      const kind = idle.look({ phase, life, isAnswered: liveness.apiSilentMs() === 0, maintenances });
      cluster.holdAll(kind === 'idle');
      if ((kind === 'dead' || kind === 'idle') && !cluster.watchesAll()) {
        // What is known of the node's maintenances is what the controller has noted: to go on without it is not enough.
        cluster.wantAll();
        return { controller: 'unknown', maintenances };
      }
      if (need === 'give-back' && kind === 'alive') giveBack.leaveToController();
      return { controller: kind, maintenances };
    },
    suspend: () => {
      need = 'none';
      liveness.forget();
    },
    isBusy: () => need !== 'none' && (idle.isIdle() || liveness.last()?.kind !== 'alive'),
    state: () => (idle.isIdle() ? { kind: 'idle', silentMs: idle.idleMs() } : liveness.last()),
    isAway: async (signal) => idle.isIdle() || (await liveness.observe(0, signal)).kind === 'dead',
    whyAway: () => WHY_SELF[idle.isIdle() ? 'idle' : 'dead'],
    settings: () => (idle.isIdle() ? DEFAULT_EVICTION_SETTINGS : liveness.settings()),
    apiSilentMs: () => liveness.apiSilentMs(),
  };
}
