/** Judges a history by the invariants of the chaos test, and by stability. */
import { MAINTENANCE_REQUESTER } from '../../src/api/names.ts';
import { EVICTION_REQUESTS, objectPath } from '../../src/kube/resource.ts';
import type { History } from '../chaos/history.ts';
import { checkForeign } from '../chaos/invariants/foreign.ts';
import { checkGivenBack, checkLeftOvers } from '../chaos/invariants/given-back.ts';
import { checkLeaving } from '../chaos/invariants/leaving.ts';
import { checkManifests } from '../chaos/invariants/manifests.ts';
import { checkStatus } from '../chaos/invariants/status.ts';
import type { Invariant, Violation } from '../chaos/invariants/violation.ts';
import { endMaintenances, keptAway, unblock, unfinished } from '../chaos/phases.ts';
import type { World } from '../chaos/world.ts';
import { repeatedWrites } from './repeated-writes.ts';
import { live, type Scene, untilQuiet, usersOf } from './scene.ts';
import { changesOf, REPORT } from './world.ts';

/** How long drains may take in which nothing blocks, heartbeats of 20 minutes included. */
const BOUND_MS = 3 * 3_600_000;
/** By then a new leader has worked, and finished requests are deleted. */
const SETTLED_MS = 5 * 60_000;
/** When all is done, nobody writes anything for so long. */
const STABLE_MS = 30 * 60_000;
/** What an interceptor writes, as often as its heart beats. */
const BEAT = 'evictionrequests/status';

/** A violation of an invariant of the chaos test, or of stability: when nothing changes, nobody writes. */
export interface Finding extends Omit<Violation, 'invariant'> {
  readonly invariant: Invariant | 'stable';
}

export async function judgeAtRest(scene: Scene): Promise<readonly Violation[]> {
  await scene.replicas.settle();
  const isQuiet = await untilQuiet(scene);
  if (!isQuiet) return [];
  return [...checkStatus(scene.world), ...checkGivenBack(scene.world), ...(await keptAway(scene.world))];
}

/** Waits until nothing is found, or the bound is over. */
async function untilNone(scene: Scene, look: () => readonly Violation[]): Promise<readonly Violation[]> {
  const deadline = scene.time.now() + BOUND_MS;
  while (look().length > 0 && scene.time.now() < deadline) await live(scene, 10_000);
  return look();
}

/** What is written although nothing happens; Leases are renewed, and agents report once an hour. */
async function judgeStability(scene: Scene, when: string): Promise<readonly Finding[]> {
  const { record, time } = scene;
  await live(scene, SETTLED_MS);
  const since = time.now();
  await live(scene, STABLE_MS);
  const repeated: readonly string[] = ['Lease', 'Event', REPORT];
  const late = record.writes.filter(({ at, resource }) => at > since && !repeated.includes(resource));
  const [first] = late;
  if (first === undefined) return [];
  const what = `${first.user} writes ${first.resource} ${when}, when nothing changes any more`;
  return [{ invariant: 'stable', what, detail: `${late.length} writes, the first: ${JSON.stringify(first)}` }];
}

/** When a pod changed last, or anything that somebody outside writes; the heart of an interceptor changes nothing that is asked. */
function lastChangeAt(scene: Scene): number {
  const { server, record } = scene;
  const ours = usersOf(scene);
  const pod = server.objects.changes.findLast(({ kind }) => kind === 'Pod');
  const other = record.writes.findLast(({ user, resource }) => !ours.includes(user) && resource !== BEAT);
  return Math.max(pod?.at ?? 0, other?.at ?? 0);
}

/** Lets time pass until nothing has changed for half an hour, or a drain has gone on for very long; returns when the still part began. */
async function untilStill(scene: Scene): Promise<number> {
  const deadline = scene.time.now() + BOUND_MS;
  const stillSince = (): number => lastChangeAt(scene) + SETTLED_MS;
  // A drain can go on: an interceptor that is silent loses its turn after 20 minutes.
  while (scene.time.now() < stillSince() + STABLE_MS && scene.time.now() < deadline) {
    await live(scene, Math.min(stillSince() + STABLE_MS, deadline) - scene.time.now());
  }
  return Math.max(stillSince(), scene.time.now() - STABLE_MS);
}

/** What is written again and again while nothing changes outside, and drains may be blocked. */
async function judgeRates(scene: Scene): Promise<readonly Finding[]> {
  const since = await untilStill(scene);
  return repeatedWrites(scene.record.writes, scene.server.objects.changes, since, usersOf(scene)).map((what) => ({
    invariant: 'stable',
    ...what,
  }));
}

/** What can be said of the whole record. */
export function judgeRecord(scene: Scene): readonly Violation[] {
  const { server, record, machine } = scene;
  const changes = changesOf(server);
  const users = usersOf(scene);
  const ended = machine?.failure();
  return [
    ...checkLeaving(changes, record.writes, users),
    ...checkForeign(changes, record.writes, users),
    ...(machine === undefined ? [] : checkManifests(changes, machine.moves, machine.nodeName)),
    ...(ended === undefined
      ? []
      : [{ invariant: 'manifests' as const, what: 'the agent ended by itself', detail: ended }]),
  ];
}

/** Others ask no more: a static pod for which only they ask would be waited for in vain. */
async function withdrawOthers(world: World): Promise<void> {
  for (const { metadata, spec } of world.requests()) {
    const requesters = (spec.requesters ?? []).filter(({ name }) => name === MAINTENANCE_REQUESTER);
    const path = objectPath(EVICTION_REQUESTS, metadata);
    await world.send({ method: 'PATCH', path, body: { spec: { requesters } }, patch: { kind: 'merge' } });
  }
}

export async function judgeEnd(scene: Scene, history: History): Promise<readonly Finding[]> {
  const { world, replicas } = scene;
  await replicas.setClock(0);
  await replicas.settle();
  const repeated = await judgeRates(scene);
  await unblock(world);
  await withdrawOthers(world);
  const late = await untilNone(scene, () => unfinished(world));
  const unstable = await judgeStability(scene, 'after the drains');
  const atRest = [...checkStatus(world), ...checkGivenBack(world)];
  await endMaintenances(world);
  const isCordoned = history.steps.some((step) => step.do === 'cordon node');
  const left = await untilNone(scene, () => checkLeftOvers(world, isCordoned));
  const still = await judgeStability(scene, 'after the maintenances');
  const failures = replicas
    .failures()
    .map((error): Finding => ({ invariant: 'stable', what: 'a controller ended by itself', detail: String(error) }));
  const away = await keptAway(world);
  return [...repeated, ...late, ...unstable, ...atRest, ...left, ...still, ...away, ...failures];
}
