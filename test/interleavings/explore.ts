/** Explores a small world breadth first: every order of what may happen, each state once. */
import { describeStep, type Step } from '../chaos/history.ts';
import { signatureOf } from '../chaos/invariants/violation.ts';
import { type ControllerMove, createControllerModel } from './controller-moves.ts';
import { Graph } from './graph.ts';
import { type Finding, judgeMove, judgeRest } from './judge.ts';
import { createLooks } from './looks.ts';
import { clusterMoves, eventMoves, type Move, openWorld } from './outside.ts';
import type { Product } from './product.ts';
import { hashOfState, type State } from './state.ts';
import { ERAS, type StaticPods } from './world.ts';
import type { SmallWorld } from './worlds.ts';

/** When an exploration ends at the latest. */
export interface Limits {
  readonly states: number;
  readonly ms: number;
  /** Ends with the first violation. */
  readonly first: boolean;
}

/** A violation and the shortest way to it. */
export interface Counterexample {
  readonly finding: Finding;
  /** What happened, one line each. */
  readonly way: readonly string[];
  /** The steps of the chaos test among that. */
  readonly steps: readonly Step[];
}

export interface Explored {
  readonly states: number;
  readonly moves: number;
  readonly atRest: number;
  /** Whether every state was explored. */
  readonly complete: boolean;
  readonly found: readonly Counterexample[];
  /** How many moves lead to the state that is farthest away. */
  readonly depth: number;
}

type Anything = Move & Pick<ControllerMove, 'decidedOn'>;

/** A state that is still to be explored. */
interface Waiting {
  readonly state: State;
  readonly number: number;
  readonly depth: number;
}

const ENDS: Step = { do: 'kill controller', with: {} };
const STARTS: Step = { do: 'start controller', with: {} };

/** The steps by which the chaos test tries the same way; what comes in between is left to its own timing. */
function stepsOf(small: SmallWorld, labels: readonly string[]): readonly Step[] {
  const steps = labels.flatMap((label): readonly Step[] => {
    const event = small.events.find((step) => describeStep(step) === label);
    if (event !== undefined) return [{ do: 'wait', with: { ms: 300 } }, event];
    return label.startsWith('controller ends') ? [ENDS, STARTS] : [];
  });
  return [...small.opening, ...steps, { do: 'rest', with: {} }];
}

/** One exploration. */
class Exploration {
  readonly #small: SmallWorld;
  readonly #model: ReturnType<typeof createControllerModel>;
  readonly #statics: StaticPods = { keys: new Set(), known: new Map() };
  readonly #graph = new Graph();
  readonly #found = new Map<string, Counterexample>();
  readonly #isCordonedByPerson: boolean;
  #moves = 0;
  #atRest = 0;

  constructor(product: Product, small: SmallWorld) {
    this.#small = small;
    this.#model = createControllerModel(createLooks(product), small);
    this.#isCordonedByPerson = [...small.opening, ...small.events].some((step) => step.do === 'cordon node');
  }

  async run(limits: Limits): Promise<Explored> {
    const until = performance.now() + limits.ms;
    const beginning = await openWorld(this.#small, this.#statics);
    let layer: Waiting[] = [{ state: beginning, number: this.#graph.add(hashOfState(beginning)), depth: 0 }];
    let [depth, isCut] = [0, false];
    while (layer.length > 0 && !isCut) {
      const next: Waiting[] = [];
      for (const waiting of layer) {
        isCut ||= this.#graph.size >= limits.states || performance.now() > until;
        isCut ||= limits.first && this.#found.size > 0;
        if (isCut) break;
        next.push(...(await this.#expand(waiting)));
      }
      if (next.length > 0 && !isCut) depth += 1;
      layer = next;
    }
    if (!isCut) this.#judgeProgress();
    const { size: states } = this.#graph;
    return {
      states,
      moves: this.#moves,
      atRest: this.#atRest,
      complete: !isCut,
      found: [...this.#found.values()],
      depth,
    };
  }

  async #expand({ state, number, depth }: Waiting): Promise<readonly Waiting[]> {
    const ofCluster = await clusterMoves(state, this.#statics);
    const system: readonly Anything[] = [...(await this.#model.moves(state)), ...ofCluster];
    const later = ofCluster.length === 0 && (await this.#model.rests(state)) ? this.#rest(state, number) : [];
    const events = await eventMoves(state, this.#small, this.#statics);
    const fresh: Waiting[] = [];
    for (const move of [...system, ...later, ...events]) {
      const hash = hashOfState(move.state);
      if (hash === this.#graph.hashOf(number)) continue;
      this.#moves += 1;
      for (const finding of judgeMove(state, move)) this.#note(finding, number, move.label);
      const { number: to, isNew } = this.#graph.connect(number, hash, move.label);
      if (isNew) fresh.push({ state: move.state, number: to, depth: depth + 1 });
    }
    return fresh;
  }

  /** Notes a state at rest; when all times have passed it is judged. Returns what time makes of it. */
  #rest(state: State, number: number): readonly Anything[] {
    this.#graph.rest(number);
    if (state.era + 1 < ERAS.length) {
      return [{ label: 'time passes', state: { ...state, era: state.era + 1 }, changes: [], writes: [] }];
    }
    this.#atRest += 1;
    for (const finding of judgeRest(state, this.#statics, this.#isCordonedByPerson)) this.#note(finding, number);
    return [];
  }

  #note(finding: Finding, number: number, last?: string): void {
    const signature = signatureOf(finding);
    if (this.#found.has(signature)) return;
    const way = [...this.#graph.wayTo(number), ...(last === undefined ? [] : [last])];
    this.#found.set(signature, { finding, way, steps: stepsOf(this.#small, way) });
  }

  /** When nothing more happens outside, the world can come to rest from every state. */
  #judgeProgress(): void {
    const lost = this.#graph.firstWithoutRest();
    if (lost === undefined) return;
    const what = 'the world never comes to rest, whatever happens';
    this.#note({ invariant: 'stable', what, detail: `state ${lost}` }, lost);
  }
}

/** Explores a small world of this product. */
export async function explore(product: Product, small: SmallWorld, limits: Limits): Promise<Explored> {
  return await new Exploration(product, small).run(limits);
}
