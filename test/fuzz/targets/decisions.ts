/** A whole cluster of objects through every rule that takes them: what is written must fit the schemas, and nothing goes out of its order. */
import * as fc from 'fast-check';
import { DrainObserver } from '../../../src/controller/maintenance/observer.ts';
import type { ControllerContext } from '../../../src/controller/context.ts';
import { controllerOptionsSchema } from '../../../src/controller/options.ts';
import { decideLeaving, targetedPods } from '../../../src/decide/node/leaving.ts';
import { decideGate } from '../../../src/decide/daemon-set/gate.ts';
import { budgetCovers } from '../../../src/decide/disruption-budget/covers.ts';
import { effectiveDrainPlan, targetsCover } from '../../../src/decide/maintenance/drain-plan.ts';
import { previewDrain } from '../../../src/show/preview/drain-preview.ts';
import { drainView } from '../../../src/show/progress/drain-progress.ts';
import { decideLabels } from '../../../src/decide/eviction/metadata.ts';
import { decideEvictionRequest } from '../../../src/decide/eviction/request.ts';
import { decideTimes } from '../../../src/decide/eviction/admission-times.ts';
import { evictProgress } from '../../../src/show/progress/eviction-progress.ts';
import { decideHeartbeat } from '../../../src/decide/eviction/heartbeat.ts';
import { decideEvictionStep, rememberedAttempts } from '../../../src/decide/eviction/imperative.ts';
import { drainsOfNode, isEndedByReboot, selectsNode } from '../../../src/decide/maintenance/maintenance.ts';
import { decideCordon } from '../../../src/decide/maintenance/cordon.ts';
import { endOptionsOf, interceptorsUntil, shortenedGraceSec } from '../../../src/decide/deadline/maintenance.ts';
import { maintenanceWarnings } from '../../../src/decide/maintenance/warnings.ts';
import { decideNodeConditions } from '../../../src/decide/maintenance/node-conditions.ts';
import { awaitingPodOf, drainPodsOfNode, resolveSelfDrains } from '../../../src/decide/drain/self-drain.ts';
import { decideShorterEnd } from '../../../src/decide/deadline/shorter-grace.ts';
import { decideToldPods } from '../../../src/decide/staying-pod/terminating-pods.ts';
import { nodesThatStay } from '../../../src/decide/disruption-budget/staying-node.ts';
import { membersOfControlPlane } from '../../../src/decide/maintenance/control-plane-members.ts';
import { goesDownUncounted } from '../../../src/decide/presence/presence.ts';
import { nodeGoneForGood, rebootNodeOf, takesTurns } from '../../../src/decide/reboot/turn.ts';
import { type AskedReboot, rebootsOverLimit } from '../../../src/decide/reboot/limit.ts';
import { drainBegan } from '../../../src/decide/maintenance/recorded-node.ts';
import { evictionPausedUntil, goesDownSince, whyReturning } from '../../../src/decide/staying-pod/returning-pod.ts';
import { MAX_GRACE_SEC } from '../../../src/decide/pod.ts';
import { timeOf } from '../../../src/decide/time.ts';
import { violations } from '../schema.ts';
import { assertFinite, type FuzzInput, type FuzzTarget } from '../target.ts';
import { MAINTENANCE_STATUS, REQUEST_STATUS, type World, WORLDS } from './objects.ts';
import { indexesOf } from '../../support/maintenance/indexes.ts';

const NOW = Date.UTC(2026, 6, 1, 12);
const OPTIONS = controllerOptionsSchema.parse({});

function assertFits(schema: typeof REQUEST_STATUS, value: unknown, place: string): void {
  const [first] = violations(schema, JSON.parse(JSON.stringify(value ?? {})), place);
  if (first !== undefined) throw new Error(`does not fit the schema: ${first}`);
}

/** The controller's look at each maintenance. */
function drains({ maintenances, requests, pods, nodes }: World): void {
  const context = {
    ...indexesOf({ maintenances, requests, pods, nodes }),
    options: OPTIONS,
    clock: { now: () => NOW },
    ungated: { on: () => [] },
  } as unknown as ControllerContext;
  const observer = new DrainObserver(context);
  for (const maintenance of maintenances) {
    const { status, resolution, againAt } = observer.observe(maintenance, NOW);
    assertFits(MAINTENANCE_STATUS, status, 'status');
    assertFinite([status, againAt === Infinity ? 0 : againAt], 'drain');
    for (const { name, evicting, drainTargets } of resolution?.nodes ?? []) {
      const other = evicting.find((pod) => !targetsCover(drainTargets, pod));
      if (other !== undefined) throw new Error(`${other.name} of ${name} is evicted although no target covers it`);
    }
    for (const node of nodes) {
      const { name } = node.metadata;
      const on = context.maintenances.on(name);
      const seen = { node, pods: () => context.pods.on(name), maintenances: on, maxWaitMs: 1_000 };
      for (const pod of targetedPods(seen)) assertFinite(decideLeaving(pod, seen, NOW), 'leaving');
    }
    const requestOf = (): undefined => undefined;
    const view = drainView(
      { maintenance, nodes: nodes.map((node) => node.metadata.name), pods, requestOf, seen: new Map() },
      NOW,
    );
    assertFinite(view, 'view');
  }
}

/** What the agent of a node does alone, and what a person is shown of a drain beforehand. */
function nodes({ maintenances, requests, pods, nodes: all, budgets }: World): void {
  const requestOf = (pod: (typeof pods)[number]): (typeof requests)[number] | undefined =>
    requests.find(({ spec }) => spec.target.pod.uid === pod.metadata.uid);
  for (const node of all) {
    const { name } = node.metadata;
    const own = pods.filter(({ spec }) => spec.nodeName === name);
    const resolved = resolveSelfDrains(maintenances, node.metadata, drainPodsOfNode(own, [], { since: NOW, now: NOW }));
    assertFinite(
      resolved.map(({ resolution }) => resolution),
      'own drain',
    );
    for (const each of own) awaitingPodOf(each, requestOf(each));
    decideCordon(node, ['m1']);
    decideNodeConditions(node, { maintenances: ['m1'], planned: [], draining: [], drained: false });
    const selecting = maintenances.filter((each) => selectsNode(each, node));
    for (const each of selecting) {
      isEndedByReboot(each, node);
      maintenanceWarnings(each.spec.nodeSelector, all);
      const plan = effectiveDrainPlan(each.spec.drainPlan ?? []);
      const facts = {
        node,
        maintenances: selecting,
        pods: own,
        budgets,
        daemonSets: [],
        isGateInstalled: true,
        plan,
        deadlineMs: 30_000,
      };
      assertFinite(previewDrain(facts), 'preview');
    }
  }
}

/** Each pod, and the request for it. */
function evictions({ maintenances, requests, pods, budgets }: World): void {
  decideToldPods(pods, {
    now: NOW,
    goesDown: true,
    hasDeadline: true,
    kubeletDownMs: 60_000,
    live: [],
    ended: new Set(),
  });
  for (const pod of pods) {
    decideGate(pod, (node) => drainsOfNode(maintenances, node));
    for (const budget of budgets) budgetCovers(budget, pod);
    const options = endOptionsOf(pod, pods, maintenances, NOW);
    const shorterSec = decideShorterEnd(pod, options.gracePeriodSeconds, NOW);
    assertFinite([options, interceptorsUntil(pod, pods, maintenances) ?? 0, shorterSec ?? 0], 'end');
    const graceSec = shortenedGraceSec(pod, pods, maintenances, NOW);
    for (const [sec, most] of [
      [graceSec, MAX_GRACE_SEC],
      [shorterSec, Number.MAX_SAFE_INTEGER],
    ] as const) {
      if (sec !== undefined && !(Number.isInteger(sec) && sec >= 1 && sec <= most)) throw new Error(`told ${sec}`);
    }
    const request = requests.find(({ spec }) => spec.target.pod.uid === pod.metadata.uid);
    if (request === undefined) continue;
    decideLabels(request, pod);
    const decision = decideEvictionRequest(request, pod, NOW);
    assertFits(REQUEST_STATUS, { ...request.status, ...decision.status }, 'status');
    assertFinite(decision, 'decision');
    const target = { name: pod.metadata.name, uid: pod.metadata.uid ?? '' };
    assertFinite(evictProgress(target, request, pod, NOW), 'progress');
    const fresh = { ...request, status: { ...request.status, ...decision.status } };
    decideTimes(request, fresh, NOW);
    const [name = 'a.example.com'] = request.status?.activeInterceptors ?? [];
    const patience = { takeOverMs: 60_000, promiseMs: 600_000 };
    const step = decideEvictionStep({ request, pod }, rememberedAttempts(request), patience, NOW);
    assertFinite(step, 'step');
    const progress = step.kind === 'evict' ? { message: 'x' } : step.progress;
    const entry = decideHeartbeat(request, name, progress, NOW);
    if (entry !== undefined) assertFits(REQUEST_STATUS, { interceptors: [entry] }, 'status');
  }
}

/** Machines that go down at once: who waits for whom, and which pods come back. */
function goingDown({ maintenances, pods, nodes: all }: World): void {
  const podsOn = (node: string): typeof pods => pods.filter(({ spec }) => spec.nodeName === node);
  assertFinite(
    membersOfControlPlane(all, podsOn, (node) => goesDownUncounted(node, maintenances, NOW)),
    'members',
  );
  const staying = nodesThatStay(all, new Set(maintenances.flatMap((each) => nodeGoneForGood(each) ?? [])), NOW);
  if (staying.length > all.length) throw new Error('more nodes stay than there are');
  const asked = maintenances.flatMap((each): AskedReboot[] => {
    const node = takesTurns(each, NOW) ? rebootNodeOf(each) : undefined;
    return node === undefined ? [] : [{ node, askedAt: timeOf(each.metadata.creationTimestamp) ?? Infinity }];
  });
  const waits = rebootsOverLimit(asked, new Set(), 1);
  if (asked.length > 0 && waits.size >= new Set(asked.map(({ node }) => node)).size)
    throw new Error('all machines wait for each other');
  for (const pod of pods) {
    for (const maintenance of maintenances) {
      const node = { name: pod.spec.nodeName ?? '' };
      const [began, since] = [drainBegan(maintenance, node), goesDownSince(maintenances, node, all[0])];
      assertFinite([whyReturning(pod, began, since) ?? 0, evictionPausedUntil(pod, began, NOW) ?? 0], 'returning');
    }
  }
}

/** Targets over clusters. */
export const DECISION_TARGETS: readonly FuzzTarget[] = (
  [
    ['drains', drains],
    ['nodes', nodes],
    ['evictions', evictions],
    ['going-down', goingDown],
  ] as const
).map(([name, run]) => ({
  name,
  inputs: WORLDS.map(
    (world): FuzzInput => JSON.parse(JSON.stringify(world)) as FuzzInput,
  ) satisfies fc.Arbitrary<FuzzInput>,
  open: () => ({ run: (input) => run(input as unknown as World) }),
}));
