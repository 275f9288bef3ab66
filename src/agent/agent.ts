import { nodeStatusOf } from '../decide/maintenance/recorded-node.ts';
import { turnWaitOf } from '../decide/shutdown/machine-going-down.ts';
import { askedRelease } from '../decide/machine/cluster-release.ts';
import type { Phase } from '../decide/shutdown/phase.ts';
import { standOf } from '../decide/wait/progress.ts';
import type { RetentionFacts } from '../decide/static-pod/parked.ts';
import type { AgentContext } from './context.ts';
import { buildStatus, phaseWithLock } from './status-report.ts';
import type { AgentStatus } from './control/status.ts';
import { createSystemdStatus } from './control/systemd-status.ts';
import { createFirstQuestion } from './shutdown/first-question.ts';
import { createHandOver, type HandOver } from './drain/offline/hand-over.ts';
import { type LoopDependencies, runLoop } from './loop.ts';
import { type PhaseFactDependencies, readPhaseFacts } from './shutdown/facts.ts';
import { type CallingOff, createPhaseMachine, type PhaseMachine } from './phase/phase-machine.ts';
import type { AgentRecord } from './phase/record.ts';
import type { IterationObservation } from './shutdown/story-recorder.ts';
import { createStaticPodPasses, type StaticPodPasses } from './drain/pod-pass.ts';
import { createStepRunner } from './iteration/step.ts';
import { createFirstSteps, createSteps } from './steps.ts';
import { createStorage } from './storage-problem.ts';

/** A running agent. */
export interface Agent {
  status(): AgentStatus;
  /** Ends the drain at once, for an operator in a hurry. Throws USAGE where no shutdown is held. */
  release(reason: string): void;
  /** Makes durable that somebody called off the shutdown of this phase; false where the phase is another one meanwhile. */
  callOff(shutdown: Phase, wish: CallingOff): Promise<boolean>;
  /** Runs until `stop` is aborted and nothing is under way that only this agent can finish, or `signal` is aborted. */
  run(stop: AbortSignal, signal: AbortSignal): Promise<void>;
}

/** What the rules about parked manifests have to know; `startedSinceBootMs` is when this process began to ask. */
function retentionReader(
  { config, clock, cluster }: AgentContext,
  startedSinceBootMs: number,
): (phase: Phase) => RetentionFacts {
  const { own, maintenances } = cluster?.cluster ?? {};
  return (phase) => ({
    phase,
    onBoot: config.onBoot,
    clusterConfigured: cluster !== undefined,
    own: own?.own().map(({ metadata }) => metadata.name) ?? [],
    drains: maintenances?.synced() === true ? maintenances.drains() : undefined,
    apiSilent: clock.monotonic() - startedSinceBootMs >= config.apiWaitSec * 1000,
  });
}

/** While the node drains, its Node object is read this often. */
const NODE_EVERY_MS = 15_000;

async function nodeGoneMs({ cluster }: AgentContext, signal: AbortSignal): Promise<number> {
  const node = await cluster?.ownNode.observe(NODE_EVERY_MS, signal);
  return node?.kind === 'absent' ? node.forMs : 0;
}

function manifestsStuck({ staticPods }: AgentContext): boolean {
  return staticPods.pods.stuck().size > 0;
}

function openHandOver(context: AgentContext): HandOver {
  const { config, clock, log, node, machine, cluster } = context;
  return createHandOver({
    config,
    nodeName: node.name,
    clock,
    log,
    cluster: cluster?.cluster.own,
    ownNode: cluster?.ownNode,
    client: cluster?.client,
    offlinePods: machine.offlinePods,
    manifestsStuck: () => manifestsStuck(context),
  });
}

/** Everything that reads the phase's facts; what the steps of the iterations have come to is in `earlier`. */
function phaseFactReader(
  context: AgentContext,
  earlier: Pick<PhaseFactDependencies, 'startedSinceBootMs' | 'firstQuestion' | 'handedOver' | 'lastPass'>,
): (phase: Phase, signal: AbortSignal) => ReturnType<typeof readPhaseFacts> {
  const { config, clock, node, machine, notices, cluster, drain } = context;
  const dependencies: PhaseFactDependencies = {
    nodeName: node.name,
    bootId: node.bootId,
    limits: config,
    clock,
    detector: machine.detector,
    notices,
    cluster: cluster?.cluster.own,
    stall: () => drain.observer?.stall(),
    standOf: (name) => standOf(cluster?.cluster.maintenances.get(name), node.name),
    nodeGoneMs: (signal) => nodeGoneMs(context, signal),
    manifestsStuck: () => manifestsStuck(context),
    ...earlier,
  };
  return (phase, signal) => readPhaseFacts(dependencies, phase, signal);
}

function statusReader(
  { clock, node, machine, notices, cluster, staticPods, drain }: AgentContext,
  phases: PhaseMachine,
  lastPass: StaticPodPasses['last'],
  storageProblem: () => string | undefined,
): () => AgentStatus {
  const dependencies = {
    nodeName: node.name,
    startedAt: clock.now(),
    phase: () => phases.record().phase,
    changedAt: phases.changedAt,
    lastShutdown: () => phases.record().last,
    lastPass,
    storageProblem,
    cluster: cluster && { ...cluster, controller: () => drain.observer?.state() },
    detector: machine.detector,
    lock: machine.lock,
    otherLocks: machine.otherLocks,
    warnings: () => [...staticPods.warnings(), ...notices.problems()],
  };
  return () => buildStatus(dependencies);
}

/** Reads what a person has written in the cluster to let the machine go. */
function releaseReader({ cluster, node }: AgentContext): (maintenance: string) => string | undefined {
  return (maintenance) => askedRelease(cluster?.cluster.maintenances.get(maintenance), node.name);
}

/** What the story of a shutdown takes from the status at the end of an iteration. */
function observationReader(
  { cluster, node, machine }: AgentContext,
  record: () => AgentRecord,
  status: () => AgentStatus,
): () => IterationObservation {
  return () => {
    const { phase, offlineTargets } = record();
    const name = phase.kind === 'watching' ? '' : phase.maintenance;
    const recorded = nodeStatusOf(cluster?.cluster.maintenances.get(name)?.status, node.name);
    const last = (offlineTargets.length > 0 ? offlineTargets : (recorded?.drainTargets ?? [])).at(-1);
    const tier = last === undefined ? undefined : { podType: last.podType, podPriority: last.podPriority };
    const { waitingFor, parked } = status();
    const kubeletEnds = machine.otherLocks.hasKubelets();
    return { waitingFor, parked, tier, kubeletEnds, budgetsNotAsked: recorded?.budgetsNotAsked === true };
  };
}

/** Whether requests, moves or ending pods are followed, of which no event tells everything. */
function isBusy({ cluster, drain }: AgentContext, lastPass: StaticPodPasses['last']): boolean {
  const { decision, unrecorded } = lastPass() ?? {};
  if (unrecorded !== undefined && unrecorded.size > 0) return true;
  // Parked pods that have ended need no polling: the watches of the cluster and of the directory wake the loop.
  const isEnding = decision?.progress.some(({ state }) => state !== 'ended') === true;
  // The outcome of an action is seen, and shown, by the pass after it.
  const hasActed = (decision?.actions.length ?? 0) > 0;
  if (isEnding || hasActed || cluster === undefined) return isEnding || hasActed;
  return cluster.cluster.requests.list().length > 0 || drain.observer?.isBusy() === true;
}

/** Puts the agent together from its parts and the record that was read from the disk. */
export function createAgent(context: AgentContext, initial: AgentRecord, releaseMemory = (): void => undefined): Agent {
  const { clock, log, state, node, machine, notices, people, cluster, staticPods, drain } = context;
  const startedSinceBootMs = clock.monotonic();
  const retentionFacts = retentionReader(context, startedSinceBootMs);
  const passes = createStaticPodPasses({
    staticPods: staticPods.pods,
    manual: staticPods.manual,
    retentionFacts,
    drain: (facts, signal) => drain.step.pass(facts, signal),
    unrecorded: cluster?.unrecorded,
    interceptor: cluster?.interceptor,
  });
  const firstQuestion = createFirstQuestion(clock);
  const handOver = openHandOver(context);
  const earlier = { startedSinceBootMs, firstQuestion, handedOver: () => handOver.isDone(), lastPass: passes.last };
  const readFacts = phaseFactReader(context, earlier);
  const announce = people.announce.bind(people);
  const phases = createPhaseMachine({ nodeName: node.name, state, log, readFacts, announce }, initial);
  const storage = createStorage({ state, journal: staticPods.journal, nodeName: node.name, announce, clock });
  const status = statusReader(context, phases, passes.last, storage.problem);
  const turn = (): string | undefined => {
    const { phase } = phases.record();
    const name = phase.kind === 'draining' ? phase.maintenance : '';
    return turnWaitOf(cluster?.cluster.maintenances.get(name))?.message;
  };
  const isHeld = (): boolean => machine.lock.status(phases.record().phase).held;
  const shown = { phase: () => phases.record().phase, isHeld, problem: storage.problem, turn, status };
  const showStatus = createSystemdStatus(shown, (line) => people.notify(line), clock);
  const observation = observationReader(context, phases.record, status);
  const loop: LoopDependencies = {
    machine: phases,
    firstSteps: createFirstSteps({ handOver, ...phases, askedRelease: releaseReader(context) }),
    steps: createSteps(context, { phases, passes, firstQuestion, retentionFacts, storage, observation, showStatus }),
    runner: createStepRunner(log),
    lastPass: passes.last,
    isBusy: () => isBusy(context, passes.last),
    detector: machine.detector,
    notices,
    lock: machine.lock,
    ...context.loop,
    rest: () => {
      machine.runtime.close();
      releaseMemory();
    },
  };
  return {
    status,
    release: phases.release,
    callOff: phases.callOff,
    run: async (stop, signal) => {
      // Before the first iteration, which may have to wait for an API server.
      const { phase } = phases.record();
      await people.notify(phaseWithLock(phase, machine.lock.status(phase)));
      await runLoop(loop, stop, signal);
    },
  };
}
