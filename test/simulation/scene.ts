/** One history while it is played: what is in it, and how time passes in it. */
import type { StepKinds } from '../chaos/history.ts';
import { actOnRequests } from '../chaos/stand-ins/interceptors.ts';
import type { World } from '../chaos/world.ts';
import { collectPods, runBudgets, runDaemonSets } from './stand-ins/controllers.ts';
import type { Stage } from './steps.ts';
import { CONTROLLER, type Record } from './world.ts';

/** Stand-ins look so often while something changes. */
const LOOK_MS = 100;
/** The heart of an interceptor beats so often. */
const BEAT_MS = 5 * 60_000;
/** By then a Lease that nobody renews has expired, and a replica leads and has seen everything. */
const LED_MS = 180_000;
/** The world rests when nothing has changed for so long, as in the chaos test. */
const QUIET_MS = 4_000;
/** A world that does not come to rest in this time never does. */
const REST_MS = 10 * 60_000;

/** Plays somebody outside: does what is due now. */
interface StandIn {
  look(): Promise<void>;
}

/** The interceptor of pods; one whose heart beats, or that lies, writes at each look, and looks seldom. */
export function createInterceptor(world: World, { time }: Stage): StandIn {
  let nextAt = 0;
  return {
    look: async () => {
      const isTalking = world.interceptors === 'beats' || world.interceptors === 'lies';
      if (isTalking && time.now() < nextAt) return;
      nextAt = time.now() + BEAT_MS;
      await actOnRequests(world);
    },
  };
}

/** The users as which the product writes. */
export function usersOf({ machine }: Scene): readonly string[] {
  return machine === undefined ? [CONTROLLER] : [CONTROLLER, `system:node:${machine.nodeName}`];
}

/** Everything of one history. */
export interface Scene extends Stage {
  readonly world: World;
  readonly record: Record;
  readonly steps: StepKinds;
  readonly kubelets: StandIn;
  readonly interceptors: StandIn;
  /** How many changes the stand-ins have seen, and when the last one of them was. */
  readonly looked: { changes: number; at: number };
}

/** Whether something has changed since this was asked last that is no Lease, which is renewed all the time, and no Event. */
function isNewer(scene: Scene): boolean {
  const { changes } = scene.server.objects;
  const isMoved = scene.machine?.isStill() === false;
  if (isMoved) scene.looked.at = scene.time.now();
  if (changes.length === scene.looked.changes) return isMoved;
  const isOther = changes.slice(scene.looked.changes).some(({ kind }) => kind !== 'Lease' && kind !== 'Event');
  scene.looked.changes = changes.length;
  if (isOther) scene.looked.at = scene.time.now();
  return isOther || isMoved;
}

/** Lets time pass, in which the stand-ins of the cluster act on what changes. */
export async function live(scene: Scene, ms: number): Promise<void> {
  const { time, server, world, interceptors } = scene;
  const until = time.now() + ms;
  let calmSince = time.now();
  while (time.now() < until) {
    // A pod takes a while to end after the last change of it.
    if (isNewer(scene) || scene.looked.at > calmSince) calmSince = time.now();
    if (time.now() - calmSince < 1_000) {
      await scene.kubelets.look();
      await scene.machine?.look(world);
      await runDaemonSets(world, server);
      await collectPods(world);
      await runBudgets(world, server);
      await interceptors.look();
      await time.pass(Math.min(LOOK_MS, until - time.now()));
    } else await time.pass(until - time.now(), () => isNewer(scene));
  }
}

/** Waits until nothing has changed for a while; returns whether that came to pass. */
export async function untilQuiet(scene: Scene): Promise<boolean> {
  const { time } = scene;
  await live(scene, LED_MS);
  const deadline = time.now() + REST_MS;
  while (time.now() < deadline) {
    const since = time.now();
    await live(scene, QUIET_MS);
    if (scene.looked.at <= since) return true;
  }
  return false;
}
