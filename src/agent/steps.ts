import { effectiveDrains, type RetentionFacts } from '../decide/static-pod/parked.ts';
import { type Phase, remakeAt } from '../decide/shutdown/phase.ts';
import type { ClusterParts } from './cluster-parts.ts';
import type { FirstQuestion } from './shutdown/first-question.ts';
import { presenceFactsOf } from './presence-facts.ts';
import type { AgentRecord } from './phase/record.ts';
import { completeOwn, createFailedPodRemoval, ensureMaintenance } from './shutdown/maintenance.ts';
import type { AgentContext } from './context.ts';
import { keepAnnotations } from './drain/deadline.ts';
import type { HandOver } from './drain/offline/hand-over.ts';
import { keepNoticeCordon } from './notices/cordon.ts';
import type { IterationObservation } from './shutdown/story-recorder.ts';
import { createRelocation } from './static-pods/when-to-find-directory.ts';
import type { PassPhases, StaticPodPasses } from './drain/pod-pass.ts';
import type { Step, Steps, Iteration } from './iteration/step.ts';
import type { Storage } from './storage-problem.ts';

/** What the steps need beside the parts of the agent. */
interface StepDependencies {
  readonly phases: PassPhases;
  readonly passes: StaticPodPasses;
  readonly firstQuestion: Pick<FirstQuestion, 'note'>;
  readonly retentionFacts: (phase: Phase) => RetentionFacts;
  readonly storage: Storage;
  /** What this iteration has seen of the drain. */
  readonly observation: () => IterationObservation;
  /** Shows the state to systemd. */
  readonly showStatus: () => Promise<void>;
}

/** What the steps before the decision need. */
interface FirstStepDependencies {
  readonly handOver: Pick<HandOver, 'attempt'>;
  readonly record: () => AgentRecord;
  /** What a person has written in the cluster to let the shutdown of this maintenance go; undefined where nobody has. */
  readonly askedRelease: (maintenance: string) => string | undefined;
  readonly release: (reason: string) => void;
}

/**
 * The steps before the phase is decided: an offline drain that is handed over goes on in the cluster in this iteration, and a
 * machine that a person lets go through the cluster is released in it.
 */
export function createFirstSteps({ handOver, record, askedRelease, release }: FirstStepDependencies): Steps {
  const attempt: Step['run'] = async (_turn, signal) => void (await handOver.attempt(record(), signal));
  const hear: Step['run'] = async () => {
    const { phase } = record();
    const asked = phase.kind === 'draining' ? askedRelease(phase.maintenance) : undefined;
    if (asked !== undefined) release(`released through the cluster by ${asked}`);
  };
  return [
    { name: 'hand an offline drain over to the cluster', run: attempt },
    { name: 'hear whether a person lets the machine go', run: hear },
  ];
}

/** The steps that follow a transition, in the iteration that made it. */
function transitionSteps({ notices, people, cluster }: AgentContext): readonly Step[] {
  return [
    {
      name: 'forget an earlier maintenance of the same name',
      run: async ({ phase, transition }) => {
        if (transition === undefined || phase.kind !== 'draining') return;
        const { from } = transition;
        const isOther = from.kind === 'watching' || from.maintenance !== phase.maintenance;
        if (isOther) cluster?.cluster.own.forget(phase.maintenance);
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
        if (transition !== undefined) await people.hooks.run(transition, signal);
      },
    },
  ];
}

/** The steps that keep the machine up while its shutdown is held. */
function machineSteps({ machine, notices }: AgentContext): readonly Step[] {
  const { lock, otherLocks, offlinePods, knownPods } = machine;
  const isUp = (phase: Phase): boolean => phase.kind === 'watching' || phase.kind === 'recovering';
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

/** The step that creates the maintenance of a shutdown. */
function maintenanceStep(
  { clock, config }: AgentContext,
  { cluster }: ClusterParts,
  firstQuestion: StepDependencies['firstQuestion'],
): Step {
  return {
    name: 'create the maintenance',
    run: async ({ phase }, signal) => {
      if (phase.kind === 'draining' && clock.monotonic() < remakeAt(phase)) return;
      firstQuestion.note(phase);
      await ensureMaintenance(cluster.own, config.drainPlan, phase, signal);
    },
  };
}

/** The other steps that write to the cluster. */
function clusterSteps(
  { config, log, node, notices, drain, machine }: AgentContext,
  { cluster, overduePods, presence }: ClusterParts,
  { isDrained, phases }: { isDrained: (phase: Phase) => boolean; phases: PassPhases },
): readonly Step[] {
  const removeFailedPods = createFailedPodRemoval(cluster, log);
  return [
    {
      name: 'write the deadline and the kind of the shutdown',
      run: ({ phase }, signal) => keepAnnotations({ cluster, log }, phase, signal),
    },
    { name: 'end overdue pods', run: (_turn, signal) => overduePods.reconcile(signal) },
    {
      name: 'complete the maintenances',
      run: ({ phase }, signal) => completeOwn(cluster.own, config.onBoot, phase, signal),
    },
    {
      name: 'cordon for a notice',
      run: (_turn, signal) => keepNoticeCordon(cluster, node.name, notices.cordon(), signal),
    },
    {
      name: 'remove failed pods',
      run: async ({ phase }, signal) => {
        if (config.removeFailedPods) await removeFailedPods(phase, signal);
      },
    },
    {
      name: 'show the agent on its Node',
      run: async ({ phase }) => {
        const { last } = phases.record();
        const shown = last === undefined ? { phase } : { phase, last };
        presence.show(presenceFactsOf(shown, machine.lock.status(phase), cluster.maintenances));
      },
    },
    {
      name: 'watch the eviction requests',
      run: async ({ phase }) => {
        cluster.requests.watch(isDrained(phase) || drain.observer?.isBusy() === true);
      },
    },
  ];
}

/**
 * The steps of an iteration after the phase was decided, in the order in which they run. Each reads its own facts and fails by
 * itself. The order matters in four places: hooks run before the lock is released, the maintenance is created before anything
 * slow is read and before pods leave, the static pods are located before they are moved, and the state is shown last. The
 * lock does not wait for an API server that does not answer, nor the maintenance for logind or for the disk.
 */
export function createSteps(context: AgentContext, dependencies: StepDependencies): Steps {
  const { machine, cluster, staticPods, people } = context;
  const { phases, passes, firstQuestion, retentionFacts, storage, observation, showStatus } = dependencies;
  const isDrained = (phase: Phase): boolean => effectiveDrains(retentionFacts(phase)).length > 0;
  const relocate = createRelocation(
    ({ phase }) => isDrained(phase),
    (signal) => staticPods.locate(signal),
  );
  const isTold = ({ phase, transition }: Iteration): boolean => phase.kind !== 'watching' || transition !== undefined;
  return [
    { name: 'restore a lost shutdown', run: (_turn, signal) => machine.detector.restore(signal) },
    {
      name: 'record what happens to the shutdown',
      run: async (iteration) => {
        if (isTold(iteration)) people.story.recordTransition(iteration);
      },
    },
    ...transitionSteps(context),
    {
      concurrent: [
        machineSteps(context),
        cluster === undefined ? [] : [maintenanceStep(context, cluster, firstQuestion)],
      ],
    },
    ...(cluster === undefined ? [] : clusterSteps(context, cluster, { isDrained, phases })),
    { name: 'locate the static pods', run: relocate },
    { name: 'drain the node and move static pods', run: (_turn, signal) => passes.run(phases, signal) },
    {
      name: 'watch the static pod directory',
      run: () => staticPods.directoryWatch.set((passes.last()?.view.parked ?? []).length > 0),
    },
    {
      name: 'record what the shutdown does',
      run: async (iteration) => {
        if (isTold(iteration)) people.story.recordProgress(iteration, observation());
      },
    },
    { name: 'write again what the disk refused', run: () => storage.retry() },
    { name: 'show the state to systemd', run: showStatus },
  ];
}
