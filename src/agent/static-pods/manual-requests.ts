import type { AgentConfig } from '../../config/schema.ts';
import type { KubeletFacts } from '../../decide/machine/kubelet-config.ts';
import { MANUAL } from '../../decide/static-pod/parked.ts';
import { type Leave, type ParkedPod, podKey } from '../../decide/static-pod/moves.ts';
import type { Clock } from '../../host/clock.ts';
import type { ContainerRuntime } from '../../host/cri/runtime.ts';
import { isKubeletUp } from '../../host/kubelet/health.ts';
import type { Log } from '../../telemetry/log.ts';
import { StaticPods } from './static-pods.ts';
import type { StaticPodStore, StaticPodView } from './view.ts';

/** What a person asked for with `nodemaint static-pods`, until it is done: manifests to park, and to give back, by file. */
export class ManualRequests {
  readonly #parks = new Set<string>();
  readonly #restores = new Set<string>();

  park(file: string): void {
    this.#restores.delete(file);
    this.#parks.add(file);
  }

  restore(file: string): void {
    this.#parks.delete(file);
    this.#restores.add(file);
  }

  /** Adds the pods that are to be parked to those that leave anyway. */
  withParks(view: StaticPodView, leave: ReadonlyMap<string, Leave>): ReadonlyMap<string, Leave> {
    const asked = view.inPlace.filter(({ file }) => this.#parks.has(file));
    const why: Leave = { maintenance: MANUAL, reason: 'asked for by a person' };
    return new Map([...asked.map((pod) => [podKey(pod), why] as const), ...leave]);
  }

  /** Whether a person asked to restore it. */
  isWanted({ file }: ParkedPod): boolean {
    return this.#restores.has(file);
  }

  /** Forgets what the view shows as done; returns whether anything is left. */
  settle(view: StaticPodView): boolean {
    // Where no manifest can be moved none is seen: nothing is known to be done.
    if (view.refusal === undefined) {
      for (const file of this.#parks) if (!view.inPlace.some((pod) => pod.file === file)) this.#parks.delete(file);
      for (const file of this.#restores) if (!view.parked.some((pod) => pod.file === file)) this.#restores.delete(file);
    }
    return this.#parks.size + this.#restores.size > 0;
  }
}

interface ManualRequestDependencies {
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly bootId: string;
  readonly store: StaticPodStore;
  readonly runtime: ContainerRuntime;
  readonly find: (signal: AbortSignal) => Promise<KubeletFacts | undefined>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The static pods are observed this often until all is done. */
const LOOK_MS = 500;

/**
 * Carries requests out without an agent, by the agent's own rules: the kubelet is up before a move, and the containers are
 * gone before a manifest comes back. Returns when all is done; `onWait` receives each reason to wait once.
 */
export async function carryOutManualRequests(
  byHand: ManualRequests,
  dependencies: ManualRequestDependencies,
  onWait: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { config, clock, find, store } = dependencies;
  const staticPods = new StaticPods({
    ...dependencies,
    store: () => store,
    kubeletUp: (until) => isKubeletUp(config.kubeletHealthz, find, until),
  });
  const said = new Set<string>();
  for (;;) {
    const view = await staticPods.observe(signal);
    if (!byHand.settle(view)) return;
    const leave = byHand.withParks(view, new Map());
    const targeted = new Set(leave.keys());
    const keepParked = (pod: ParkedPod): boolean => !byHand.isWanted(pod);
    const decision = await staticPods.decide(view, { leave, targeted, mirrors: undefined, keepParked }, signal);
    for (const { key, message } of decision.progress) {
      if (message === undefined || said.has(message)) continue;
      said.add(message);
      onWait(`${key}: ${message}`);
    }
    const isDone = await staticPods.act(view, decision, undefined, signal);
    if (!isDone || decision.actions.length === 0) await clock.sleep(LOOK_MS, signal);
  }
}
