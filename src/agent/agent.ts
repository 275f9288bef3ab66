/**
 * The node agent: one loop that decides the phase from facts that are read, runs the steps that act on it, and waits for an
 * event. What reads the facts changes nothing: what acts is a step with a name. Each iteration reads everything again, so a
 * lost signal, a restart or a reboot changes nothing.
 */
import { askedRelease } from '../decide/shutdown/release.ts';
import { nodeStatusOf } from '../decide/maintenance/recorded-node.ts';
import { loopPauseMs } from '../decide/shutdown/loop-pause.ts';
import { turnWaitOf } from '../decide/reboot/turn.ts';
import { type Phase, remakeAt } from '../decide/shutdown/phase.ts';
import type { Transition } from '../decide/shutdown/transition.ts';
import { isOnItsWayBack } from '../decide/static-pod/control-plane-waits.ts';
import { effectiveDrains, type RetentionFacts } from '../decide/static-pod/parked.ts';
import { othersWarning } from './static-pods/static-pods.ts';
import type { Cluster } from './cluster.ts';
import { SystemdStatus } from './control/systemd-status.ts';
import type { AgentStatus } from './control/status.ts';
import { HandOver } from './drain/offline/hand-over.ts';
import { passOverPods, type StaticPodPass } from './drain/pod-pass.ts';
import { beside, type Iteration, StepRunner } from './iteration/step.ts';
import type { AgentParts } from './parts.ts';
import { type CallingOff, PhaseMachine } from './phase/phase-machine.ts';
import type { AgentRecord } from './phase/record.ts';
import { endsPhase, readPhaseFacts } from './shutdown/facts.ts';
import { completeOwn, ensureMaintenance } from './shutdown/maintenance.ts';
import type { IterationObservation } from './shutdown/story-recorder.ts';
import { buildStatus, phaseWithLock, presenceFactsOf } from './status.ts';
import { Storage } from './storage-problem.ts';

/** A running agent. */
export class Agent {
  readonly #parts: AgentParts;
  readonly #phases: PhaseMachine;
  readonly #handOver: HandOver;
  readonly #storage: Storage;
  readonly #systemd: SystemdStatus;
  readonly #runner: StepRunner;
  readonly #releaseMemory: () => void;
  readonly #startedAt: number;
  /** When this process began to ask, in milliseconds since the boot. */
  readonly #startedSinceBootMs: number;
  /** When it first asked the API server for the NodeMaintenance of which shutdown, in milliseconds since the boot. */
  #firstQuestion: { readonly shutdown: number; readonly at: number } | undefined;
  /** The last pass over the pods that succeeded; undefined before it. */
  #lastPass: StaticPodPass | undefined;
  /** Whether a drain of this node was known in the last iteration, and whether the directory has to be looked for since. */
  #wasDrained = false;
  #isToLocate = false;

  /** `initial` is the record that was read from the disk. */
  constructor(parts: AgentParts, initial: AgentRecord, releaseMemory = (): void => undefined) {
    const { clock, log, bootId, cluster } = parts;
    const { phase } = initial;
    const isResumed = phase.kind === 'draining' && phase.stand !== undefined && phase.bootId === bootId;
    if (isResumed) cluster?.own.resume(phase.maintenance);
    this.#parts = parts;
    this.#releaseMemory = releaseMemory;
    this.#startedAt = clock.now();
    this.#startedSinceBootMs = clock.monotonic();
    this.#phases = new PhaseMachine(parts, initial);
    this.#handOver = new HandOver(parts);
    this.#storage = new Storage(parts);
    this.#systemd = new SystemdStatus((line) => parts.notify(line), clock);
    this.#runner = new StepRunner(log);
  }

  status(): AgentStatus {
    const { nodeName, detector, lock, otherLocks, cluster, drain, locator } = this.#parts;
    const { phase, last } = this.#phases.record;
    return buildStatus({
      nodeName,
      startedAt: this.#startedAt,
      phase,
      changedAt: this.#phases.changedAt,
      lastShutdown: last,
      lastPass: this.#lastPass,
      storageProblem: this.#storage.problem(),
      cluster,
      controller: drain.observer?.state(),
      scheduled: detector.scheduled(),
      lock: lock.status(phase),
      otherLocks: otherLocks.status(),
      warnings: [...locator.warnings(), ...othersWarning(this.#lastPass?.view ?? {})],
    });
  }

  /** Ends the drain at once, for an operator in a hurry. Throws USAGE where no shutdown is held. */
  release(reason: string): void {
    this.#phases.release(reason);
  }

  /** Makes durable that somebody called off the shutdown of this phase; false where the phase is another one meanwhile. */
  callOff(shutdown: Phase, wish: CallingOff): Promise<boolean> {
    return this.#phases.callOff(shutdown, wish);
  }

  /** Runs until `stop` is aborted and nothing is under way that only this agent can finish, or `signal` is aborted. */
  async run(stop: AbortSignal, signal: AbortSignal): Promise<void> {
    const { lock, notify, wakeup } = this.#parts;
    // Before the first iteration, which may have to wait for an API server.
    await notify(phaseWithLock(this.#phase, lock.status(this.#phase)));
    stop.addEventListener('abort', wakeup.notify);
    try {
      while (!signal.aborted && (await this.#turn(stop, signal)) === 'goOn');
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    // In mid-drain the lock stays: the next agent goes on, and without one the lock's holder lets it go after a time.
    const { kind } = this.#phase;
    if ((kind === 'watching' || kind === 'released') && !signal.aborted) await lock.release(signal);
  }

  get #phase(): Phase {
    return this.#phases.record.phase;
  }

  /** An iteration, and the wait for the next one. */
  async #turn(stop: AbortSignal, signal: AbortSignal): Promise<'stop' | 'goOn'> {
    const { markProgress, runtime, wakeup } = this.#parts;
    markProgress();
    const isFollowed = await this.#iterate(signal);
    if (stop.aborted && !isFollowed && (await this.#mayStop(signal))) return 'stop';
    if (!this.#isBusy() && this.#phase.kind === 'watching') {
      runtime.close();
      this.#releaseMemory();
    }
    markProgress();
    if (!isFollowed) await wakeup.wait(this.#pauseMs(), signal);
    return 'goOn';
  }

  /**
   * One iteration: the phase is decided once, then every step acts on it. Nothing keeps a step from running, not even a phase
   * that could not be decided: the steps then go by the phase before, which is still the right one to hold the shutdown.
   * Returns whether the next iteration should follow at once: not where the phase goes on although the pass before had ended it.
   */
  async #iterate(signal: AbortSignal): Promise<boolean> {
    const before = this.#lastPass;
    const step = this.#runner.until(signal);
    // Their outcome is one of the facts of the phase.
    await step('hand an offline drain over to the cluster', () => this.#handOver.attempt(this.#phases.record, signal));
    await step('hear whether a person lets the machine go', () => this.#hearRelease());
    const decided = await step('decide the phase', () => this.#decide(signal));
    const iteration: Iteration = { phase: this.#phase, transition: decided?.value };
    await this.#act(iteration, signal);
    if (decided === undefined) return false;
    const ends = (pass?: StaticPodPass): boolean => pass?.phase === iteration.phase && endsPhase(pass);
    return iteration.transition !== undefined || (ends(this.#lastPass) && !ends(before));
  }

  /** Decides the phase from the facts, and from what the steps have come to; undefined where it stays. */
  async #decide(signal: AbortSignal): Promise<Transition | undefined> {
    const phase = this.#phase;
    const asked = phase.kind !== 'watching' && phase.since === this.#firstQuestion?.shutdown;
    const known = {
      askedSinceBootMs: asked ? this.#firstQuestion?.at : undefined,
      handedOver: this.#handOver.isDone(),
      handingOver: this.#handOver.isUnderWay(),
      lastPass: this.#lastPass,
      waitingFor: phase.kind === 'draining' ? this.status().waitingFor.map(({ what }) => what) : [],
    };
    return await this.#phases.decide(await readPhaseFacts(this.#parts, known, phase, signal));
  }

  /** Whether the agent may end although its phase is not over: a restart or an upgrade ends this process only. */
  async #mayStop(signal: AbortSignal): Promise<boolean> {
    // Where systemd stops all units, ending this one would let the machine go down before the drain is over.
    return this.#phase.kind !== 'draining' || !(await this.#parts.detector.managerStopping(signal));
  }

  #pauseMs(): number {
    const { notices, detector } = this.#parts;
    return loopPauseMs({
      phase: this.#phase,
      isBusy: this.#isBusy(),
      noticeDueInMs: notices.dueInMs(),
      shutdownBeginsInMs: detector.beginsInMs(),
    });
  }

  /** Whether requests, moves or ending pods are followed, of which no event tells everything. */
  #isBusy(): boolean {
    const { cluster, drain } = this.#parts;
    const { decision, unrecorded } = this.#lastPass ?? {};
    if (unrecorded !== undefined && unrecorded.size > 0) return true;
    // Parked pods that have ended need no polling: the watches of the cluster and of the directory wake the loop.
    const isEnding = decision?.progress.some(({ state }) => state !== 'ended') === true;
    // The outcome of an action is seen, and shown, by the pass after it.
    const hasActed = (decision?.actions.length ?? 0) > 0;
    if (isEnding || hasActed || cluster === undefined) return isEnding || hasActed;
    return cluster.requests.list().length > 0 || drain.observer?.isBusy() === true;
  }

  /** What the rules about parked manifests have to know. */
  #retention(phase: Phase): RetentionFacts {
    const { config, clock, cluster } = this.#parts;
    return {
      phase,
      onBoot: config.onBoot,
      clusterConfigured: cluster !== undefined,
      own: cluster?.own.own().map(({ metadata }) => metadata.name) ?? [],
      drains: cluster?.maintenances.synced() === true ? cluster.maintenances.drains() : undefined,
      apiSilent: clock.monotonic() - this.#startedSinceBootMs >= config.apiWaitSec * 1000,
    };
  }

  #isDrained(phase: Phase): boolean {
    return effectiveDrains(this.#retention(phase)).length > 0;
  }

  /** What the story of a shutdown takes from the status at the end of an iteration. */
  #observation(): IterationObservation {
    const { cluster, nodeName, otherLocks } = this.#parts;
    const { phase, offlineTargets } = this.#phases.record;
    const name = phase.kind === 'watching' ? '' : phase.maintenance;
    const recorded = nodeStatusOf(cluster?.maintenances.get(name)?.status, nodeName);
    const last = (offlineTargets.length > 0 ? offlineTargets : (recorded?.drainTargets ?? [])).at(-1);
    const tier = last === undefined ? undefined : { podType: last.podType, podPriority: last.podPriority };
    const { waitingFor, parked } = this.status();
    const kubeletEnds = otherLocks.hasKubelets();
    return { waitingFor, parked, tier, kubeletEnds, budgetsNotAsked: recorded?.budgetsNotAsked === true };
  }

  /** A machine that a person lets go through the cluster is released in this iteration. */
  #hearRelease(): void {
    const { cluster, nodeName } = this.#parts;
    const phase = this.#phase;
    if (phase.kind !== 'draining') return;
    const asked = askedRelease(cluster?.maintenances.get(phase.maintenance), nodeName);
    if (asked !== undefined) this.release(`released through the cluster by ${asked}`);
  }

  /**
   * Runs the steps that act on the phase. Each reads its own facts and fails by itself. The order matters in four places: hooks
   * run before the lock is released, the maintenance is created before anything slow is read and before pods leave, the static
   * pods are located before they are moved, and the state is shown last. The lock does not wait for an API server that does not
   * answer, nor the maintenance for logind or for the disk.
   */
  async #act(iteration: Iteration, signal: AbortSignal): Promise<void> {
    const { phase, transition } = iteration;
    const { cluster, detector, directoryWatch, hooks, notices, story } = this.#parts;
    const isTold = phase.kind !== 'watching' || transition !== undefined;
    const step = this.#runner.until(signal);
    await step('restore a lost shutdown', () => detector.restore(signal));
    await step('record what happens to the shutdown', () => isTold && story.recordTransition(iteration));
    await step('forget an earlier maintenance of the same name', () => this.#forgetEarlier(iteration));
    // Whoever waits for the drain hears of it before the hooks, which may take long, and of its end after them.
    await step('serve the notices of a drain', () => phase.kind === 'draining' && notices.reconcile(phase));
    await step('run the hooks', () => transition && hooks.run(transition, signal));
    await beside([this.#holdMachine(phase, signal), this.#create(phase, signal)], signal);
    if (cluster !== undefined) await this.#writeCluster(cluster, iteration, signal);
    await step('locate the static pods', () => this.#locate(iteration, signal));
    await step('drain the node and move static pods', () => this.#passOverPods(signal));
    const isParked = (this.#lastPass?.view.parked ?? []).length > 0;
    await step('watch the static pod directory', () => directoryWatch.set(isParked));
    await step('record what the shutdown does', () => isTold && story.recordProgress(iteration, this.#observation()));
    // After the pass, which says which static pods carry the way to the API server.
    await step('show the agent on its Node', () => cluster && this.#showPresence(cluster, phase));
    await step('write again what the disk refused', () => this.#storage.retry());
    await step('show the state to systemd', () => this.#showState());
  }

  #forgetEarlier({ phase, transition }: Iteration): void {
    if (transition === undefined || phase.kind !== 'draining') return;
    const { from } = transition;
    const isOther = from.kind === 'watching' || from.maintenance !== phase.maintenance;
    if (isOther) this.#parts.cluster?.own.forget(phase.maintenance);
  }

  /** Keeps the machine up while its shutdown is held. */
  async #holdMachine(phase: Phase, signal: AbortSignal): Promise<void> {
    const { lock, otherLocks, offlinePods, knownPods, notices } = this.#parts;
    const isUp = phase.kind === 'watching' || phase.kind === 'recovering';
    const isWithCluster = phase.kind === 'draining' && phase.mode === 'cluster';
    const step = this.#runner.until(signal);
    await step('keep the shutdown lock', () => lock.reconcile(phase, signal));
    await step('watch the locks of others', () => otherLocks.reconcile(phase, signal));
    await step('serve the notices', () => phase.kind !== 'draining' && notices.reconcile(phase));
    await step('start the kubelet again', () => isUp && offlinePods.giveBack(signal));
    const isRemembered = isUp || isWithCluster;
    const course = isUp ? 'up' : 'goingDown';
    await step("remember the node's pods", () => isRemembered && knownPods.refresh(course, signal));
  }

  async #create(phase: Phase, signal: AbortSignal): Promise<void> {
    const { clock, cluster, config } = this.#parts;
    const create = async (): Promise<void> => {
      if (cluster === undefined || phase.kind !== 'draining' || phase.mode !== 'cluster') return;
      if (clock.monotonic() < remakeAt(phase)) return;
      if (this.#firstQuestion?.shutdown !== phase.since) {
        this.#firstQuestion = { shutdown: phase.since, at: clock.monotonic() };
      }
      await ensureMaintenance(cluster.own, config.drainPlan, phase, signal);
    };
    await this.#runner.until(signal)('create the maintenance', create);
  }

  async #writeCluster(
    { own, requests }: Cluster,
    { phase, transition }: Iteration,
    signal: AbortSignal,
  ): Promise<void> {
    const { config, drain } = this.#parts;
    const step = this.#runner.until(signal);
    await step('write the deadline and the kind of the shutdown', () => own.keepAnnotations(phase, signal));
    await step('complete the maintenances', () => {
      const isReturning = isOnItsWayBack(this.#lastPass?.decision.progress, transition?.name === 'boot');
      return completeOwn(own, { onBoot: config.onBoot, isReturning }, phase, signal);
    });
    await step('watch the eviction requests', () => {
      requests.watch(this.#isDrained(phase) || drain.observer?.isBusy() === true);
    });
  }

  #showPresence({ maintenances, presence }: Cluster, phase: Phase): void {
    const lock = this.#parts.lock.status(phase);
    presence.show(presenceFactsOf(this.#phases.record, lock, maintenances, this.#lastPass));
  }

  /**
   * Looks for the static pod directory again when a drain of this node begins: the kubelet may have been restarted with
   * another directory since. A look that fails is repeated in the next iteration.
   */
  async #locate({ phase, transition }: Iteration, signal: AbortSignal): Promise<void> {
    const isDrained = this.#isDrained(phase);
    const begins = transition?.name === 'begin' && transition.from.kind === 'watching';
    this.#isToLocate ||= begins || (isDrained && !this.#wasDrained);
    this.#wasDrained = isDrained;
    if (!this.#isToLocate) return;
    await this.#parts.locator.relocate(signal);
    this.#isToLocate = false;
  }

  async #passOverPods(signal: AbortSignal): Promise<void> {
    const { record } = this.#phases;
    this.#lastPass = await passOverPods(
      this.#parts,
      { record, retention: this.#retention(record.phase), saveTargets: (targets) => this.#phases.saveTargets(targets) },
      signal,
    );
  }

  async #showState(): Promise<void> {
    const { cluster, lock } = this.#parts;
    const phase = this.#phase;
    const turn = phase.kind === 'draining' ? turnWaitOf(cluster?.maintenances.get(phase.maintenance)) : undefined;
    const shown = [lock.status(phase).held, this.#storage.problem(), turn?.message];
    await this.#systemd.show(phase, JSON.stringify(shown), () => this.status());
  }
}
