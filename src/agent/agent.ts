/**
 * The node agent: one loop that decides the phase from facts that are read, runs the steps that act on it, and waits for an
 * event. What reads the facts changes nothing: what acts is a step with a name. Each iteration reads everything again, so a
 * lost signal, a restart or a reboot changes nothing.
 */
import { askedRelease } from '../decide/machine/cluster-release.ts';
import { nodeStatusOf } from '../decide/maintenance/recorded-node.ts';
import { loopPauseMs } from '../decide/shutdown/loop-pause.ts';
import { turnWaitOf } from '../decide/shutdown/machine-going-down.ts';
import { type Phase, remakeAt } from '../decide/shutdown/phase.ts';
import type { Transition } from '../decide/shutdown/transition.ts';
import { isOnItsWayBack } from '../decide/static-pod/member.ts';
import { effectiveDrains, type RetentionFacts } from '../decide/static-pod/parked.ts';
import { othersWarning } from './static-pods/static-pods.ts';
import type { Cluster } from './cluster.ts';
import { SystemdStatus } from './control/systemd-status.ts';
import type { AgentStatus } from './control/status.ts';
import { createHandOver, type HandOver } from './drain/offline/hand-over.ts';
import { passOverPods, type StaticPodPass } from './drain/pod-pass.ts';
import { type Iteration, type Step, StepRunner, type Steps } from './iteration/step.ts';
import type { AgentParts } from './open.ts';
import { type CallingOff, PhaseMachine } from './phase/phase-machine.ts';
import type { AgentRecord } from './phase/record.ts';
import { endsPhase, readPhaseFacts } from './shutdown/facts.ts';
import { completeOwn, ensureMaintenance } from './shutdown/maintenance.ts';
import type { IterationObservation } from './shutdown/story-recorder.ts';
import { buildStatus, phaseWithLock, presenceFactsOf } from './status.ts';
import { Storage } from './storage-problem.ts';

/** Whether the machine is not held for a shutdown. */
function isUp({ kind }: Phase): boolean {
  return kind === 'watching' || kind === 'recovering';
}

/** Whether the story of a shutdown has something to tell of the iteration. */
function isTold({ phase, transition }: Iteration): boolean {
  return phase.kind !== 'watching' || transition !== undefined;
}

/** A running agent. */
export class Agent {
  /** The steps before the phase is decided, whose outcome is one of its facts. */
  readonly firstSteps: Steps;
  /**
   * The steps after that, in the order in which they run. Each reads its own facts and fails by itself. The order matters in
   * four places: hooks run before the lock is released, the maintenance is created before anything slow is read and before
   * pods leave, the static pods are located before they are moved, and the state is shown last. The lock does not wait for an
   * API server that does not answer, nor the maintenance for logind or for the disk.
   */
  readonly steps: Steps;
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
    this.#handOver = createHandOver(parts);
    this.#storage = new Storage(parts);
    this.#systemd = new SystemdStatus((line) => parts.notify(line), clock);
    this.#runner = new StepRunner(log);
    this.firstSteps = this.#stepsBefore();
    this.steps = this.#stepsAfter();
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
    stop.addEventListener('abort', () => {
      wakeup.notify();
    });
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
    await this.#runner.runAll(this.firstSteps, { phase: this.#phase, transition: undefined }, signal);
    const decided = await this.#runner.attempt('decide the phase', () => this.#decide(signal), signal);
    const iteration: Iteration = { phase: this.#phase, transition: decided?.value };
    await this.#runner.runAll(this.steps, iteration, signal);
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

  /**
   * An offline drain that is handed over goes on in the cluster in this iteration, and a machine that a person lets go through
   * the cluster is released in it.
   */
  #stepsBefore(): Steps {
    return [
      {
        name: 'hand an offline drain over to the cluster',
        run: async (_turn, signal) => void (await this.#handOver.attempt(this.#phases.record, signal)),
      },
      {
        name: 'hear whether a person lets the machine go',
        run: async () => {
          const { cluster, nodeName } = this.#parts;
          if (this.#phase.kind !== 'draining') return;
          const asked = askedRelease(cluster?.maintenances.get(this.#phase.maintenance), nodeName);
          if (asked !== undefined) this.release(`released through the cluster by ${asked}`);
        },
      },
    ];
  }

  #stepsAfter(): Steps {
    const { cluster, detector, directoryWatch, story } = this.#parts;
    return [
      { name: 'restore a lost shutdown', run: (_turn, signal) => detector.restore(signal) },
      {
        name: 'record what happens to the shutdown',
        run: async (turn) => {
          if (isTold(turn)) story.recordTransition(turn);
        },
      },
      ...this.#transitionSteps(),
      { concurrent: [this.#machineSteps(), cluster === undefined ? [] : [this.#maintenanceStep(cluster)]] },
      ...(cluster === undefined ? [] : this.#clusterSteps(cluster)),
      { name: 'locate the static pods', run: (turn, signal) => this.#locate(turn, signal) },
      { name: 'drain the node and move static pods', run: (_turn, signal) => this.#passOverPods(signal) },
      {
        name: 'watch the static pod directory',
        run: () => directoryWatch.set((this.#lastPass?.view.parked ?? []).length > 0),
      },
      {
        name: 'record what the shutdown does',
        run: async (turn) => {
          if (isTold(turn)) story.recordProgress(turn, this.#observation());
        },
      },
      ...(cluster === undefined ? [] : [this.#presenceStep(cluster)]),
      { name: 'write again what the disk refused', run: () => this.#storage.retry() },
      { name: 'show the state to systemd', run: () => this.#showState() },
    ];
  }

  /** The steps that follow a transition, in the iteration that made it. */
  #transitionSteps(): readonly Step[] {
    const { cluster, hooks, notices } = this.#parts;
    return [
      {
        name: 'forget an earlier maintenance of the same name',
        run: async ({ phase, transition }) => {
          if (transition === undefined || phase.kind !== 'draining') return;
          const { from } = transition;
          const isOther = from.kind === 'watching' || from.maintenance !== phase.maintenance;
          if (isOther) cluster?.own.forget(phase.maintenance);
        },
      },
      {
        // Whoever waits for the drain hears of it before the hooks, which may take long, and of its end after them.
        name: 'serve the notices of a drain',
        run: async ({ phase }) => {
          if (phase.kind === 'draining') await notices.reconcile(phase);
        },
      },
      {
        name: 'run the hooks',
        run: async ({ transition }, signal) => {
          if (transition !== undefined) await hooks.run(transition, signal);
        },
      },
    ];
  }

  /** The steps that keep the machine up while its shutdown is held. */
  #machineSteps(): readonly Step[] {
    const { lock, otherLocks, offlinePods, knownPods, notices } = this.#parts;
    return [
      { name: 'keep the shutdown lock', run: ({ phase }, signal) => lock.reconcile(phase, signal) },
      { name: 'watch the locks of others', run: ({ phase }, signal) => otherLocks.reconcile(phase, signal) },
      {
        name: 'serve the notices',
        run: async ({ phase }) => {
          if (phase.kind !== 'draining') await notices.reconcile(phase);
        },
      },
      {
        name: 'start the kubelet again',
        run: async ({ phase }, signal) => {
          if (isUp(phase)) await offlinePods.giveBack(signal);
        },
      },
      {
        name: "remember the node's pods",
        run: async ({ phase }, signal) => {
          if (isUp(phase)) await knownPods.refresh('up', signal);
          else if (phase.kind === 'draining' && phase.mode === 'cluster') await knownPods.refresh('goingDown', signal);
        },
      },
    ];
  }

  #maintenanceStep({ own }: Cluster): Step {
    const { clock, config } = this.#parts;
    return {
      name: 'create the maintenance',
      run: async ({ phase }, signal) => {
        if (phase.kind !== 'draining' || phase.mode !== 'cluster' || clock.monotonic() < remakeAt(phase)) return;
        if (this.#firstQuestion?.shutdown !== phase.since) {
          this.#firstQuestion = { shutdown: phase.since, at: clock.monotonic() };
        }
        await ensureMaintenance(own, config.drainPlan, phase, signal);
      },
    };
  }

  /** After the pass, which says which static pods carry the way to the API server. */
  #presenceStep({ maintenances, presence }: Cluster): Step {
    return {
      name: 'show the agent on its Node',
      run: async ({ phase }) => {
        const lock = this.#parts.lock.status(phase);
        presence.show(presenceFactsOf(this.#phases.record, lock, maintenances, this.#lastPass));
      },
    };
  }

  /** The other steps that write to the cluster. */
  #clusterSteps(cluster: Cluster): readonly Step[] {
    const { config, drain } = this.#parts;
    const { own, requests } = cluster;
    return [
      {
        name: 'write the deadline and the kind of the shutdown',
        run: ({ phase }, signal) => own.keepAnnotations(phase, signal),
      },
      {
        name: 'complete the maintenances',
        run: async ({ phase, transition }, signal) => {
          const isReturning = isOnItsWayBack(this.#lastPass?.decision.progress, transition?.name === 'boot');
          await completeOwn(own, { onBoot: config.onBoot, isReturning }, phase, signal);
        },
      },
      {
        name: 'watch the eviction requests',
        run: async ({ phase }) => {
          requests.watch(this.#isDrained(phase) || drain.observer?.isBusy() === true);
        },
      },
    ];
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
