/** Plays allowed changes in virtual time, each sequence and each last object in a cluster of its own. */
import { NODE_MAINTENANCES } from '../../../src/kube/resource.ts';
import { createRandom } from '../../chaos/random.ts';
import { createKubelets } from '../../chaos/stand-ins/kubelets.ts';
import type { ClusterPart } from '../../chaos/world.ts';
import { createModelServer } from '../../simulation/api-server/server.ts';
import { Network } from '../../simulation/network.ts';
import { clusterOf, createSimulatedReplicas, type RunController } from '../../simulation/replicas.ts';
import { inVirtualTime } from '../../simulation/time.ts';
import { createRecord, createSimulatedWorld } from '../../simulation/world.ts';
import { differenceOf, seedOf, type Tally } from '../tally.ts';
import { drawMaintenance } from './maintenance.ts';
import { layOut, play, type Scene, TARGET } from './scene.ts';
import type { Play, Sequence } from './sequence.ts';
import { stateOf } from './state.ts';

const LOOK_MS = 100;
/** When nothing has changed for so long, the stand-ins look seldom. */
const CALM_MS = 2_000;
const PAUSES_MS = [0, 50, 400, 5_000, 90_000] as const;
/** An interceptor that is silent is passed over after 20 minutes, and what is finished is deleted. */
const REST_MS = 60 * 60_000;
const PATIENCE_MS = 30 * 60_000;
const NAME = 'h-one';

/** Plays one object alone in a cluster; returns the state at rest. */
async function stateAfter(
  controller: RunController,
  { sequence, seed, hasInterceptor }: { readonly sequence: Pick<Sequence, 'bodyOf'> & Play; readonly seed: number; readonly hasInterceptor: boolean },
  tally: Tally,
): Promise<Readonly<Record<string, unknown>>> {
  const random = createRandom(seed);
  return await inVirtualTime(random, async (time) => {
    const server = createModelServer(time.now);
    const record = createRecord(time);
    const network = new Network(time, server, random, record.note);
    const replicas = createSimulatedReplicas(controller, time, network);
    const part: ClusterPart = createSimulatedWorld(server, network, record, clusterOf(replicas));
    const kubelets = createKubelets(part);
    const live = async (until: () => boolean, ms: number): Promise<boolean> => {
      const deadline = time.now() + ms;
      let [seen, at] = [-1, time.now()];
      while (!until()) {
        if (time.now() >= deadline) return false;
        const { length } = server.objects.changes.filter(({ kind }) => kind !== 'Lease');
        if (length !== seen) [seen, at] = [length, time.now()];
        const isCalm = time.now() - at > CALM_MS;
        if (!isCalm) await kubelets.look();
        await time.pass(isCalm ? CALM_MS : LOOK_MS);
      }
      return true;
    };
    const scene: Scene = {
      part,
      until: async (what, ask) => {
        if (!(await live(ask, PATIENCE_MS))) throw new Error(`${what}: not within ${PATIENCE_MS} ms`);
      },
      rest: async () => void (await live(() => false, REST_MS)),
      pause: async () => void (await live(() => false, random.pick(PAUSES_MS))),
    };
    await replicas.start();
    await layOut(scene, hasInterceptor);
    await play(scene, { resource: NODE_MAINTENANCES, name: NAME, sequence }, (step, status) => {
      if (status >= 300) throw new Error(`the model answers ${status} to ${step.what}`);
      tally.allowed += 1;
      return Promise.resolve();
    });
    await scene.rest();
    const state = stateOf(part);
    await replicas.end();
    return state;
  });
}

/** Plays so many sequences of changes of a maintenance. */
export async function playSimulated(
  controller: RunController,
  sequences: number,
  seed: number,
  tally: Tally,
): Promise<void> {
  for (let number = 1; number <= sequences; number += 1) {
    const own = seedOf(seed, number);
    const random = createRandom(own);
    const sequence = drawMaintenance(NAME, `h-n${TARGET}`, random);
    // The model has no rules that refuse.
    const allowed = { ...sequence, steps: sequence.steps.filter((step) => step.isAllowed) };
    const hasInterceptor = random.whole(2) === 0;
    const after = await stateAfter(controller, { sequence: allowed, seed: own, hasInterceptor }, tally);
    const alone = await stateAfter(controller, { sequence: { ...sequence, ...sequence.last }, seed: own + 1, hasInterceptor }, new (tally.constructor as typeof Tally)());
    tally.sequences += 1;
    const difference = differenceOf(after, alone);
    if (difference.length === 0) continue;
    const steps = allowed.steps.map(({ what }) => what).join(', ');
    tally.find('last alone', number, `${difference.join('; ')} after ${JSON.stringify(sequence.first).slice(0, 200)}, ${steps}`);
  }
}
