/**
 * What a loop of the controller asks next in a look at one key. The real code of the loop runs from its beginning with the answers
 * that it has had, until it asks for something else or ends: so a state needs no copy of a program that is half way, and other
 * programs come in between any two requests.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { KubeClient, KubeRequest, KubeResponse } from '../../src/kube/client.ts';
import type { Clock } from '../../src/host/clock.ts';
import type { WorldObjects } from './objects.ts';
import type { Loops, Product } from './product.ts';
import { idOf, textOf, type Wanted } from './state.ts';

/** What a look begins with. */
export interface Beginning {
  readonly copies: WorldObjects;
  readonly wanted: readonly Wanted[];
  /** In milliseconds since the epoch. */
  readonly now: number;
}

/** What comes of a look with these answers: another request, or its end with what the maintenances want then. */
export type Outcome =
  | { readonly kind: 'asks'; readonly request: KubeRequest }
  | { readonly kind: 'ends'; readonly wanted: readonly Wanted[] };

/** A look that asks for something at once, or that changes what is wanted. */
export interface Beginner {
  readonly loop: string;
  readonly key: string;
  readonly outcome: Outcome;
}

/** The loops of a controller, which remember nothing but what is wanted: as if each look were the first one of its term. */
export interface Looks {
  /** The looks that do anything. */
  beginners(beginning: Beginning): Promise<readonly Beginner[]>;
  after(beginning: Beginning, loop: string, key: string, answers: readonly KubeResponse[]): Promise<Outcome>;
}

/** A look that has written nothing is repeated when it asked for that, as often as this. */
const REPEATS = 2;

type Again = Promise<{ readonly againMs?: number }>;

const NEVER = new AbortController().signal;

/** Runs one look; time passes in it only where it waits to look again. */
async function runLook(
  product: Product,
  { copies, wanted, now }: Beginning,
  { loop, key, answers }: { readonly loop: string; readonly key: string; readonly answers: readonly KubeResponse[] },
): Promise<Outcome> {
  let [monotonic, next] = [1e9, 0];
  let ask: (request: KubeRequest) => void = () => undefined;
  const asked = new Promise<KubeRequest>((resolve) => {
    ask = resolve;
  });
  const client: KubeClient = {
    send: (request) => {
      const answer = answers[next];
      next += 1;
      if (answer !== undefined) return Promise.resolve(answer);
      if (next === answers.length + 1) ask(request);
      return new Promise(() => undefined);
    },
    watch: () => {
      throw new Error('a look watches nothing');
    },
    close: () => undefined,
  };
  const clock: Clock = {
    now: () => now,
    monotonic: () => monotonic,
    sleep: () => Promise.reject(new Error('a look does not wait')),
  };
  const { loops, wanted: wantedNow } = product.loopsOf({ copies, wanted, client, clock });
  const { reconcile } = loops.find(({ name }) => name === loop) ?? { reconcile: (): Again => Promise.resolve({}) };
  const finish = async (): Promise<undefined> => {
    for (let count = 0; count <= REPEATS; count += 1) {
      // What the API server refuses is tried again later, which is another look.
      const { againMs } = await reconcile(key, NEVER).catch((): Awaited<Again> => ({}));
      if (againMs === undefined || next > 0) return undefined;
      monotonic += againMs;
    }
    return undefined;
  };
  const request = await Promise.race([asked, finish()]);
  return request === undefined ? { kind: 'ends', wanted: wantedNow() } : { kind: 'asks', request };
}

function isOther(outcome: Outcome, wanted: readonly Wanted[]): boolean {
  return outcome.kind === 'asks' || idOf(outcome.wanted) !== idOf(wanted);
}

/** Creates the looks of a controller; each is run once for all states in which it has the same to go by. */
export function createLooks(product: Product): Looks {
  const beginners = new Map<string, Promise<readonly Beginner[]>>();
  const outcomes = new Map<string, Promise<Outcome>>();
  const textOfBeginning = ({ copies, wanted, now }: Beginning): string => `${textOf(copies)}|${idOf(wanted)}|${now}`;
  const keysOf = ({ copies, wanted, now }: Beginning): Loops['keys'] => {
    const clock = { now: () => now, monotonic: () => 0, sleep: () => turn() };
    return product.loopsOf({ copies, wanted, client: undefined as unknown as KubeClient, clock }).keys;
  };
  const begin = async (beginning: Beginning): Promise<readonly Beginner[]> => {
    const found: Beginner[] = [];
    for (const [loop, keys] of Object.entries(keysOf(beginning))) {
      for (const key of keys) {
        const outcome = await runLook(product, beginning, { loop, key, answers: [] });
        if (isOther(outcome, beginning.wanted)) found.push({ loop, key, outcome });
      }
    }
    return found;
  };
  return {
    beginners: (beginning) => {
      const text = textOfBeginning(beginning);
      const known = beginners.get(text) ?? begin(beginning);
      beginners.set(text, known);
      return known;
    },
    after: (beginning, loop, key, answers) => {
      const text = `${textOfBeginning(beginning)}|${loop}|${key}|${idOf(answers)}`;
      const known = outcomes.get(text) ?? runLook(product, beginning, { loop, key, answers });
      outcomes.set(text, known);
      return known;
    },
  };
}
