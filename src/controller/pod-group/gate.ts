import type { Pod } from '../../api/pod.ts';
import { afterAttempt, type EvictionMemory, isInBackground, NO_ATTEMPT } from '../../decide/eviction/imperative.ts';
import { budgetTooSmall } from '../../decide/pod-group/pod-group.ts';
import { createEvictionAttempts, type EvictionAttempts } from '../../kube/eviction/attempt-memory.ts';
import { keyOf } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import type { EvictionEngine } from '../../kube/eviction/imperative.ts';

/** So many pods of a group are tried at the same time. */
const TRIALS_AT_ONCE = 4;
/** So often it is looked whether the budgets have become large enough, and whether the trial of another pod is over. */
const TRY_AGAIN_MS = 1_000;

/** Whether the pods of a group may leave, all together. */
type GateStep =
  | { readonly kind: 'open' }
  /** Not yet; `refused` says why, and is absent while that is not known. */
  | { readonly kind: 'closed'; readonly againMs: number; readonly refused?: string };

/** Lets the pods of groups with the mode `all` leave when all of them may: none leaves where one cannot. */
export interface GroupGate {
  /** The next step of the group, NAMESPACE/NAME, with these pods. Throws API_UNREACHABLE. */
  pass(group: string, pods: readonly Pod[], signal: AbortSignal): Promise<GateStep>;
  /** Ends the pauses of the groups that this budget, NAMESPACE/NAME, keeps. Returns these groups. */
  budgetChanged(key: string): readonly string[];
  /** Forgets the group: its next drain begins with another trial. */
  forget(group: string): void;
}

class Gates implements GroupGate {
  readonly #context: ControllerContext;
  readonly #engine: Pick<EvictionEngine, 'tryOut'>;
  readonly #open = new Set<string>();
  readonly #trying = new Set<string>();
  readonly #memories: EvictionAttempts;
  /** Why each group is kept, as a sentence. */
  readonly #reasons = new Map<string, string>();

  constructor(context: ControllerContext, engine: Pick<EvictionEngine, 'tryOut'>) {
    this.#context = context;
    this.#engine = engine;
    this.#memories = createEvictionAttempts(context.clock);
  }

  async pass(group: string, pods: readonly Pod[], signal: AbortSignal): Promise<GateStep> {
    if (this.#open.has(group)) return { kind: 'open' };
    if (this.#trying.has(group)) return this.#closed(group, TRY_AGAIN_MS);
    this.#trying.add(group);
    try {
      return await this.#attempt(group, pods, signal);
    } finally {
      this.#trying.delete(group);
    }
  }

  budgetChanged(key: string): readonly string[] {
    const [namespace = '', name = ''] = key.split('/');
    return this.#memories.list().flatMap(([group, memory]) => {
      if (!group.startsWith(`${namespace}/`) || !memory.blockedBy.includes(name)) return [];
      this.#memories.set(group, { ...memory, nextAt: 0 });
      return [group];
    });
  }

  forget(group: string): void {
    this.#open.delete(group);
    this.#reasons.delete(group);
    this.#memories.delete(group);
  }

  #closed(group: string, againMs: number): GateStep {
    const refused = this.#reasons.get(group);
    return { kind: 'closed', againMs, ...(refused === undefined ? {} : { refused }) };
  }

  async #attempt(group: string, pods: readonly Pod[], signal: AbortSignal): Promise<GateStep> {
    const { clock, budgetRule, budgets } = this.#context;
    const name = group.slice(group.indexOf('/') + 1);
    const asked = pods.filter((pod) => budgetRule.whyNotAsked(pod) === undefined);
    const small = budgetTooSmall(name, asked, budgets.list());
    if (small !== undefined) {
      this.#reasons.set(group, small.why);
      return this.#closed(group, TRY_AGAIN_MS);
    }
    const now = clock.now();
    const { nextAt } = this.#memories.get(group) ?? NO_ATTEMPT;
    if (now < nextAt) return this.#closed(group, nextAt - now);
    // What others have begun in the background is not asked for once more, also not for a trial.
    const tried = pods.filter((pod) => !isInBackground(pod));
    const refused = await this.#refusal(group, tried, signal);
    if (refused !== undefined) {
      this.#memories.set(group, refused);
      return this.#closed(group, Math.max(0, refused.nextAt - clock.now()));
    }
    this.forget(group);
    this.#open.add(group);
    return { kind: 'open' };
  }

  /** Tries the pods. Returns what is remembered of the first refusal; undefined where there is none. */
  async #refusal(group: string, pods: readonly Pod[], signal: AbortSignal): Promise<EvictionMemory | undefined> {
    const before = this.#memories.get(group) ?? NO_ATTEMPT;
    for (let first = 0; first < pods.length; first += TRIALS_AT_ONCE) {
      const some = pods.slice(first, first + TRIALS_AT_ONCE);
      const outcomes = await Promise.all(
        some.map(async (pod) => ({ pod, outcome: await this.#engine.tryOut(pod, before, signal) })),
      );
      for (const { pod, outcome } of outcomes) {
        if (outcome.kind !== 'blocked' && outcome.kind !== 'postponed') continue;
        this.#reasons.set(group, `Pod ${pod.metadata.name}: ${outcome.message}`);
        this.#context.log.info({ pod: keyOf(pod), group, ...outcome }, 'a pod of a group may not leave yet');
        return afterAttempt(pod, before, outcome, this.#context.clock.now()).memory;
      }
    }
    return undefined;
  }
}

export function createGroupGate(context: ControllerContext, engine: Pick<EvictionEngine, 'tryOut'>): GroupGate {
  return new Gates(context, engine);
}
