/** The controller of `lifecycle.k8s.io`: all requests and Evictions for the pods of one name are judged together. */
import { isDeepStrictEqual } from 'node:util';
import type { Eviction, LifecycleRequest, PodReference } from '../../api/lifecycle.ts';
import type { Pod } from '../../api/pod.ts';
import { isTerminal } from '../../decide/pod.ts';
import { isEvictionOver } from '../../decide/lifecycle/conditions.ts';
import { activeEviction, numberOf } from '../../decide/lifecycle/request.ts';
import { respondersOf } from '../../decide/lifecycle/responders.ts';
import type { LifecycleObjects } from '../../kube/lifecycle/objects.ts';
import { findPod, type TargetNotes } from '../../kube/lifecycle/target-notes.ts';
import type { Reconcile } from '../../kube/queue.ts';
import type { LifecycleContext } from './context.ts';
import { decideEviction } from './decide/eviction.ts';
import {
  decideNewEviction,
  decideRequestStatus,
  evictionName,
  superfluous,
  type TargetFacts,
} from './decide/request.ts';
import { participantsOf } from './decide/requesters.ts';
import {
  createEviction,
  deleteEviction,
  writeEvictionStatus,
  writeParticipants,
  writeRequestStatus,
} from './writes.ts';

/** What the steps share. */
interface Scope {
  readonly context: LifecycleContext;
  readonly objects: LifecycleObjects;
  readonly notes: TargetNotes;
}

/** All objects of one very pod; `target` is absent where it is none. */
interface Group {
  readonly key: string;
  readonly target: PodReference | undefined;
}

/** One group of objects as they are known best, and its pod. */
class TargetStep {
  readonly #scope: Scope;
  readonly #group: Group;
  readonly #pod: Pod | undefined;
  readonly #signal: AbortSignal;
  #againMs = Infinity;

  constructor(scope: Scope, group: Group, pod: Pod | undefined, signal: AbortSignal) {
    this.#scope = scope;
    this.#group = group;
    this.#pod = pod;
    this.#signal = signal;
  }

  get #requests(): readonly LifecycleRequest[] {
    return this.#mine(this.#scope.objects.requests.under(this.#group.key));
  }

  get #evictions(): readonly Eviction[] {
    return this.#mine(this.#scope.objects.evictions.under(this.#group.key));
  }

  #mine<T extends Eviction | LifecycleRequest>(objects: readonly T[]): readonly T[] {
    return objects.filter(({ spec }) => spec.target.pod?.uid === this.#group.target?.uid);
  }

  get #facts(): TargetFacts | undefined {
    const { target } = this.#group;
    if (target === undefined) return undefined;
    return { target, pod: this.#pod, requests: this.#requests, evictions: this.#evictions };
  }

  #later(ms: number | undefined): void {
    if (ms !== undefined) this.#againMs = Math.min(this.#againMs, ms);
  }

  /** Returns when to look again, in milliseconds; Infinity where nothing is waited for. */
  async run(): Promise<number> {
    for (const eviction of this.#evictions) await this.#step(eviction);
    await this.#create();
    const { client, clock } = this.#scope.context;
    for (const request of this.#requests) {
      const status = decideRequestStatus(request, this.#facts, clock.now());
      const after = status && (await writeRequestStatus(client, request, status, this.#signal));
      if (after !== undefined) this.#scope.objects.requests.note(after);
    }
    for (const eviction of superfluous(this.#evictions)) await deleteEviction(client, eviction, this.#signal);
    return this.#againMs;
  }

  async #step(eviction: Eviction): Promise<void> {
    if (isEvictionOver(eviction)) return;
    const { client, clock, log } = this.#scope.context;
    const { key, target } = this.#group;
    const pod = this.#pod?.metadata.uid === target?.uid ? this.#pod : undefined;
    const hasEnded = pod === undefined || isTerminal(pod);
    const first = activeEviction(this.#evictions);
    const facts = {
      eviction,
      pod,
      requests: this.#requests,
      isSecond: first !== undefined && first.metadata.uid !== eviction.metadata.uid,
      endedMs: hasEnded ? this.#scope.notes.endedMs(key, target?.uid ?? '') : 0,
    };
    const { status, againMs } = decideEviction(facts, clock.now());
    this.#later(againMs);
    const after = status && (await writeEvictionStatus(client, eviction, status, this.#signal));
    if (after !== undefined) {
      this.#scope.objects.evictions.note(after);
      log.info({ eviction: eviction.metadata.name, target: key, ...summary(after) }, 'eviction moved on');
    }
    await this.#describe(after ?? eviction);
  }

  /** Writes the labels by which the participants find the Eviction, and its owners. */
  async #describe(eviction: Eviction): Promise<void> {
    const { metadata, status } = eviction;
    if (isEvictionOver(eviction)) return;
    const named = status?.targetResponders ?? [];
    const wanted = participantsOf(
      eviction,
      this.#requests,
      named.map(({ name }) => name),
    );
    const { labels = {}, ownerReferences = [] } = metadata;
    const isSame = wanted.ownerReferences.length === ownerReferences.length && isDeepStrictEqual(wanted.labels, labels);
    if (isSame) return;
    const after = await writeParticipants(this.#scope.context.client, eviction, wanted, this.#signal);
    if (after !== undefined) this.#scope.objects.evictions.note(after);
  }

  async #create(): Promise<void> {
    const { context, objects, notes } = this.#scope;
    const { key, target } = this.#group;
    if (this.#facts === undefined || target === undefined) return;
    const decision = decideNewEviction(this.#facts, context.clock.now());
    if (decision.kind === 'wait') this.#later(decision.ms);
    if (decision.kind !== 'create') return;
    const numbers = objects.evictions.under(key).map(({ metadata }) => numberOf(metadata.name));
    const number = Math.max(notes.takenNumber(key), ...numbers) + 1;
    const responders = this.#pod === undefined ? [] : respondersOf(this.#pod).map(({ name }) => name);
    const draft = {
      name: evictionName(number, target.name),
      namespace: key.split('/')[0] ?? '',
      target,
      participants: participantsOf(undefined, this.#requests, responders),
    };
    const made = await createEviction(context.client, draft, this.#signal);
    if (made === undefined) this.#later(0);
    else if (made.spec.target.pod?.uid === target.uid) {
      objects.evictions.note(made);
      await this.#step(made);
    } else {
      notes.taken(key, number);
      this.#later(0);
    }
  }
}

/** What a log line says of an Eviction. */
function summary({ status }: Eviction): { readonly active?: string | undefined; readonly reason?: string | undefined } {
  const active = status?.targetResponders?.find(({ state }) => state === 'Active')?.name;
  return { active, reason: status?.conditions?.find((each) => each.status === 'True')?.reason };
}

/** The step for the pods of one name: NAMESPACE/POD. */
export function createTargetReconciler(scope: Scope): Reconcile {
  const { context, objects, notes } = scope;
  return async (key, signal) => {
    const targets = new Map<string | undefined, PodReference | undefined>();
    for (const { spec } of [...objects.requests.under(key), ...objects.evictions.under(key)]) {
      targets.set(spec.target.pod?.uid, spec.target.pod);
    }
    notes.keep(
      key,
      [...targets.keys()].flatMap((uid) => uid ?? []),
    );
    let againMs = Infinity;
    for (const target of targets.values()) {
      const group = { key, target };
      const pod = target === undefined ? undefined : await findPod(context, notes, { key, target }, signal);
      againMs = Math.min(againMs, await new TargetStep(scope, group, pod, signal).run());
    }
    return againMs === Infinity ? {} : { againMs };
  };
}
