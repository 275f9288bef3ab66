/**
 * How long evictions of `lifecycle.k8s.io` take in one namespace, from the first request to the last one that says that its pod
 * has left, beside the creation of the same requests alone; and whether ten times as many take ten times as long.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { LifecycleRequest } from '../../src/api/lifecycle.ts';
import type { Pod } from '../../src/api/pod.ts';
import { isEvicted } from '../../src/decide/lifecycle/conditions.ts';
import { collectionPath, objectPath } from '../../src/kube/resource.ts';
import {
  buildLifecycleRig,
  LIFECYCLE_REQUESTS,
  type LifecycleRig,
  podBody,
  PODS,
  requestBody,
} from '../support/rigs/lifecycle.ts';

const COUNTS = [500, 1_500, 5_000];
const PARALLEL = 16;

async function inParallel(count: number, task: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await task(next - 1);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
}

async function seconds(task: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await task();
  return (performance.now() - began) / 1000;
}

/** How many requests of the namespace say that their pod has left. */
async function countEvicted(rig: LifecycleRig, namespace: string): Promise<number> {
  let count = 0;
  let next = '';
  do {
    const query = `limit=500${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`;
    const path = `${collectionPath(LIFECYCLE_REQUESTS, namespace)}?${query}`;
    const { body } = await rig.ask({ method: 'GET', path });
    const page = body as { items: LifecycleRequest[]; metadata: { continue?: string } };
    count += page.items.filter(isEvicted).length;
    next = page.metadata.continue ?? '';
  } while (next !== '');
  return count;
}

async function benchOne(rig: LifecycleRig, count: number): Promise<string> {
  const [namespace, other] = [`many-${count}`, `bare-${count}`];
  for (const each of [namespace, other]) await rig.createNamespace(each);
  const pods: Pod[] = [];
  await inParallel(count, async (index) => {
    pods.push(await rig.create<Pod>(PODS, namespace, podBody(`p-${index}`)));
  });
  const made: LifecycleRequest[] = [];
  const ask = async (where: string): Promise<void> => {
    await inParallel(count, async (index) => {
      const pod = pods[index];
      if (pod !== undefined) made.push(await rig.create<LifecycleRequest>(LIFECYCLE_REQUESTS, where, requestBody(pod)));
    });
  };
  const bare = await seconds(() => ask(other));
  await inParallel(count, async (index) => {
    const { name = '', namespace: where = '' } = made[index]?.metadata ?? {};
    await rig.send({ method: 'DELETE', path: objectPath(LIFECYCLE_REQUESTS, { name, namespace: where }) });
  });
  const before = await rig.writes();
  const stop = await rig.startLifecycle();
  const whole = await seconds(async () => {
    await ask(namespace);
    while ((await countEvicted(rig, namespace)) < count) await delay(1_000);
  });
  await stop();
  const after = await rig.writes();
  const writes = after.count - before.count;
  const ratio = `${(whole / bare).toFixed(1)} times`;
  const each = `${((whole / count) * 1000).toFixed(1)} ms each`;
  const alone = `${ratio} the creation of the requests alone (${bare.toFixed(1)} s)`;
  // As many writes by a client that only writes, at the pace of these creations.
  const beside = `${(whole / (bare * (1 + writes / count))).toFixed(1)} times as many bare writes`;
  const by = `${(writes / count).toFixed(1)} writes of the controllers each, ${after.refused.length} refused`;
  return `${count} evictions: ${whole.toFixed(1)} s, ${each}; ${alone}, ${beside}; ${by}`;
}

/** Prints the times. */
export async function benchLifecycle(): Promise<void> {
  await using rig = await buildLifecycleRig();
  for (const count of COUNTS) console.log(await benchOne(rig, count));
}
