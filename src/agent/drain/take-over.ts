import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { NodeMaintenances } from '../cluster/maintenance-watch.ts';
import type { NodeEvictionRequests, NodePods } from '../cluster/on-demand-watch.ts';
import type { OwnMaintenances } from '../cluster/own-maintenances.ts';
import type { ControllerLease, ControllerState } from './controller-lease.ts';
import type { GiveBack } from './uncordon.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import { maintenancesOfNode } from '../../decide/drain/self-drain.ts';
import { DEFAULT_EVICTION_SETTINGS, type EvictionSettings } from '../../decide/eviction/settings.ts';
import { nodeStatusOf } from '../../decide/maintenance/recorded-node.ts';
import { type ControllerLife, WHY_SELF } from '../../decide/shutdown/drainer.ts';
import { idleControllerEvent, type PhaseEvent } from '../../decide/shutdown/events.ts';
import { othersReboot } from '../../decide/reboot/turn.ts';
import type { Phase } from '../../decide/shutdown/phase.ts';
import { isEffective, type RetentionFacts } from '../../decide/static-pod/parked.ts';
import { longestSilenceMs, type Stall, standOf, traceText } from '../../decide/shutdown/take-over.ts';
import type { Clock } from '../../host/clock.ts';

/** What decides, beside the phase, who drains the node. */
export interface DrainSight {
  readonly controller: ControllerLife;
  /** The maintenances of the node that are in progress and in effect. */
  readonly maintenances: readonly NodeMaintenance[];
}

interface ObserverDependencies {
  readonly nodeName: string;
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly lease: Pick<ControllerLease, 'observe' | 'last' | 'settings' | 'untold' | 'forget'>;
  readonly maintenances: Pick<NodeMaintenances, 'synced' | 'list' | 'watchesAll' | 'wantAll' | 'holdAll'>;
  readonly own: Pick<OwnMaintenances, 'state'>;
  readonly requests: Pick<NodeEvictionRequests, 'list'>;
  readonly pods: Pick<NodePods, 'current'>;
  readonly giveBack: Pick<GiveBack, 'markForRevert' | 'find' | 'needsRevert' | 'leaveToController'>;
  /** After how long a controller that does nothing for the shutdown of this node is not waited for, in milliseconds. */
  readonly maxIdleMs: number;
  readonly announce: (event: PhaseEvent) => void;
}

const OBSERVE_EVERY_MS = 2_000;
/** Nothing is known of the controller, and no maintenance of the node. */
export const NOTHING_KNOWN: DrainSight = { controller: 'unknown', maintenances: [] };

/** Something that was seen, and since when it has not changed, on the monotonic clock. */
interface Unchanged {
  readonly text: string;
  readonly since: number;
}

/**
 * Observes who makes progress with the drains of the node: whether a controller is alive and does something for its shutdown,
 * and for how long the API server has kept the agent from going on.
 */
export class ProgressObserver {
  readonly #parts: ObserverDependencies;
  #need: 'none' | 'maintenance' | 'give-back' = 'none';
  /** What a controller has written about the shutdown of this node. */
  #work: Unchanged | undefined;
  /** Since when the controller is idle; it counts as that until the shutdown is over, so that the drain does not change hands again and again. */
  #idleSince: number | undefined;
  /** Whether the controller has been silent for so long that this agent looks at all maintenances itself. */
  #isDoubted = false;
  #stall: (Unchanged & { readonly isBegun: boolean }) | undefined;
  #askedAt = 0;

  constructor(parts: ObserverDependencies) {
    this.#parts = parts;
  }

  /** Looks again. A shutdown asks the API server in each pass, whatever the copies show. */
  async observe(retention: RetentionFacts, phase: Phase, signal: AbortSignal): Promise<DrainSight> {
    const { lease, maintenances: copies, giveBack, nodeName } = this.#parts;
    const isHeld = phase.kind === 'draining';
    this.#askedAt = this.#parts.clock.monotonic();
    if (!isHeld) this.#forgetShutdown();
    const effective = copies.list().filter(({ metadata }) => isEffective(metadata.name, retention));
    const maintenances = copies.synced() ? maintenancesOfNode(effective, nodeName) : [];
    if (maintenances.length > 0) giveBack.markForRevert();
    else if (copies.synced()) await giveBack.find(copies.list(), signal);
    const isOwed = copies.synced() && giveBack.needsRevert();
    this.#need = maintenances.length > 0 ? 'maintenance' : isOwed && !isHeld ? 'give-back' : 'none';
    if (this.#need === 'none' && !isHeld) {
      lease.forget();
      copies.holdAll(false);
      return NOTHING_KNOWN;
    }
    const { kind: life } = await lease.observe(OBSERVE_EVERY_MS, signal);
    const own = isHeld ? maintenances.find(({ metadata }) => metadata.name === phase.maintenance) : undefined;
    const controller = isHeld ? this.#judge(life, own) : life;
    if (maintenances.length === 0 && isHeld) return NOTHING_KNOWN;
    if (this.#needsAll()) {
      copies.wantAll();
      return { controller: 'unknown', maintenances };
    }
    if (this.#need === 'give-back' && controller === 'alive') giveBack.leaveToController();
    return { controller, maintenances };
  }

  /** Notes what kept the pass over the pods of a shutdown from going on with the API server; undefined for nothing. */
  note(phase: Phase, reason: string | undefined, isBegun = false): void {
    if (phase.kind !== 'draining') return;
    const { lease, maintenances, own } = this.#parts;
    const { maintenance: name } = phase;
    const isUnseen = own.state(name) === 'open' && !maintenances.list().some(({ metadata }) => metadata.name === name);
    const unseen = isUnseen ? `the NodeMaintenance ${name}` : this.#needsAll() ? 'all NodeMaintenances' : undefined;
    const unheard = unseen === undefined ? undefined : `the API server does not tell of ${unseen}`;
    const text = lease.untold() ?? reason ?? unheard;
    const last = this.#stall;
    // What was refused before the agent began is another wait.
    const since = last === undefined || (isBegun && !last.isBegun) ? this.#askedAt : last.since;
    this.#stall = text === undefined ? undefined : { text, since, isBegun: isBegun || last?.isBegun === true };
  }

  /** How the drain of the shutdown gets no further with the API server; undefined where it does. */
  stall(): Stall | undefined {
    if (this.#stall === undefined) return undefined;
    const { text, since, isBegun } = this.#stall;
    return { forMs: this.#parts.clock.monotonic() - since, refusal: text === '' ? undefined : text, isBegun };
  }

  /** Forgets what was observed: the API server is given up for now. */
  suspend(): void {
    this.#need = 'none';
    this.#forgetShutdown();
    this.#parts.lease.forget();
  }

  /** Whether the loop has to look again soon: somebody has to act, and it is not known to be a controller. */
  isBusy(): boolean {
    return this.#need !== 'none' && (this.#isIdle() || this.#parts.lease.last()?.kind !== 'alive');
  }

  /** What was observed last; undefined while it does not matter. */
  state(): ControllerState | undefined {
    if (this.#idleSince === undefined) return this.#parts.lease.last();
    return { kind: 'idle', silentMs: this.#parts.clock.monotonic() - this.#idleSince };
  }

  /** Whether still no controller can be counted on, by a Lease that is read now: two must not do the same step. */
  async isAway(signal: AbortSignal): Promise<boolean> {
    return this.#isIdle() || (await this.#parts.lease.observe(0, signal)).kind === 'dead';
  }

  /** Why the agent drains the node in the place of a controller. */
  whyAway(): string {
    return WHY_SELF[this.#isIdle() ? 'idle' : 'dead'];
  }

  /** Whether a controller that is idle for this node may still write statuses beside the agent. */
  isBesideController(): boolean {
    return this.#isIdle() && this.#parts.lease.last()?.kind !== 'dead';
  }

  /** The options of the controller that its evictions go by; what an idle one has written onto its Lease does not hold the node. */
  settings(): EvictionSettings {
    return this.#isIdle() ? DEFAULT_EVICTION_SETTINGS : this.#parts.lease.settings();
  }

  #forgetShutdown(): void {
    this.#work = undefined;
    this.#idleSince = undefined;
    this.#isDoubted = false;
    this.#stall = undefined;
  }

  #isIdle(): boolean {
    return this.#idleSince !== undefined;
  }

  /** Whether the controller is not counted on, and of the maintenances only those that it has noted are known. */
  #needsAll(): boolean {
    const isUncertain = this.#isDoubted || this.state()?.kind === 'dead';
    return isUncertain && !this.#parts.maintenances.watchesAll();
  }

  /**
   * The requests for pods that are still on the node, as far as that is known: where nobody can take back the request for a pod
   * that is gone, its interceptor may go on for ever.
   */
  #requests(): readonly EvictionRequest[] {
    const all = this.#parts.requests.list();
    const copy = this.#parts.pods.current();
    if (copy?.current() !== true) return all;
    const here = new Set(copy.list().map(({ metadata }) => metadata.uid));
    return all.filter(({ metadata }) => here.has(metadata.name));
  }

  /** What to go by in the place of what the Lease shows. */
  #judge(life: ControllerLife, own: NodeMaintenance | undefined): ControllerLife {
    const { clock, lease, maintenances, nodeName, maxIdleMs, announce } = this.#parts;
    const now = clock.monotonic();
    const trace = { node: nodeStatusOf(own?.status, nodeName), requests: this.#requests() };
    const text = traceText(trace);
    const isChanged = this.#work?.text !== text;
    // Whatever the API server refuses, somebody gets further.
    if (isChanged && this.#stall !== undefined) this.#stall = { ...this.#stall, since: now };
    // The copies say nothing of what a controller does while the API server is away.
    const isWorkless = life !== 'dead' && lease.untold() === undefined && !isChanged;
    this.#work = { text, since: isWorkless ? (this.#work?.since ?? now) : now };
    if (this.#isIdle() && life !== 'dead') return 'idle';
    const stand = standOf(own, nodeName);
    const silentMs = now - this.#work.since;
    const isDoubted = own !== undefined && silentMs >= longestSilenceMs(trace, stand, maxIdleMs, clock.now());
    this.#isDoubted = isDoubted;
    maintenances.holdAll(isDoubted);
    if (!isDoubted) return life;
    // The controller is believed where also this agent finds, from all maintenances of the cluster, that others reboot.
    const seesTurn = maintenances.watchesAll() && !othersReboot(maintenances.list(), nodeName, clock.now());
    if (stand === 'waits' && !seesTurn) return life;
    this.#idleSince = this.#work.since;
    announce(idleControllerEvent(nodeName, own.metadata.name, silentMs));
    return 'idle';
  }
}
