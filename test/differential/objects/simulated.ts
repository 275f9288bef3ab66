/** Plays allowed changes in virtual time, each sequence and each last object in a cluster of its own. */
import { createRandom } from '../../chaos/random.ts';
import { createKubelets } from '../../chaos/stand-ins/kubelets.ts';
import { type ClusterPart, nodeNamesOf } from '../../chaos/world.ts';
import { createModelServer } from '../../simulation/api-server/server.ts';
import { Network } from '../../simulation/network.ts';
import { clusterOf, createSimulatedReplicas, type RunController } from '../../simulation/replicas.ts';
import { inVirtualTime } from '../../simulation/time.ts';
import { createRecord, createSimulatedWorld } from '../../simulation/world.ts';
import { type Amount, differenceOf, seedOf, type Tally } from '../tally.ts';
import { layOut, play, type Scene } from './scene.ts';
import { allowedOnly, describe, type Draw, lastAlone, type Sequence } from './sequence.ts';
import { stateOf } from './state.ts';

const LOOK_MS = 100;
/** When nothing has changed for so long, the stand-ins look seldom. */
const CALM_MS = 2_000;
const PAUSES_MS = [0, 50, 400, 5_000, 90_000] as const;
const PATIENCE_MS = 30 * 60_000;
/** What the names of a simulated cluster are. */
const NAMES = { id: 'h', nodeNames: nodeNamesOf('h') };

/** What is drawn of a seed, and the cluster in which it is played. */
interface Choice {
  readonly sequence: Sequence;
  readonly seed: number;
  readonly hasInterceptor: boolean;
}

/** Plays one sequence in a cluster of its own; returns the state at rest. */
async function stateAfter(
  controller: RunController,
  { sequence, seed, hasInterceptor }: Choice,
): Promise<Readonly<Record<string, unknown>>> {
  const random = createRandom(seed);
  return await inVirtualTime(random, async (time) => {
    const server = createModelServer(time.now);
    const record = createRecord(time);
    const network = new Network(time, server, random, record.note);
    const replicas = createSimulatedReplicas(controller, time, network);
    const part: ClusterPart = createSimulatedWorld(server, { network, record, cluster: clusterOf(replicas) });
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
      rest: async () => void (await live(() => false, sequence.restMs)),
      pause: async () => void (await live(() => false, random.pick(PAUSES_MS))),
    };
    await replicas.start();
    await layOut(scene, hasInterceptor);
    await play(scene, sequence, (step, status) => {
      if (status >= 300) throw new Error(`the model answers ${status} to ${step.what}`);
      return Promise.resolve();
    });
    await scene.rest();
    const state = stateOf(part);
    await replicas.end();
    return state;
  });
}

/** Plays so many sequences of allowed changes, and the last object of each alone. */
export async function playSimulated(
  controller: RunController,
  draw: Draw,
  { sequences, seed }: Amount,
  tally: Tally,
): Promise<void> {
  for (let number = 1; number <= sequences; number += 1) {
    const own = seedOf(seed, number);
    const random = createRandom(own);
    // The model has no rules that refuse.
    const sequence = allowedOnly(draw(NAMES, random));
    const hasInterceptor = sequence.resource.namespaced || random.whole(2) === 0;
    const after = await stateAfter(controller, { sequence, seed: own, hasInterceptor });
    const alone = await stateAfter(controller, { sequence: lastAlone(sequence), seed: own + 1, hasInterceptor });
    tally.sequences += 1;
    tally.allowed += sequence.steps.length;
    const difference = differenceOf(after, alone);
    if (difference.length > 0) tally.find('last alone', number, `${difference.join('; ')} after ${describe(sequence)}`);
  }
}
