/** This node as a member of the control plane: what holds its programs back while they leave or come back, and the lead of etcd. */
import type { Phase } from '../../decide/shutdown/phase.ts';
import {
  type LeavingFacts,
  leavingStep,
  type MemberHold,
  type MemberStep,
  type MemberWait,
  returningStep,
  waitsOver,
} from '../../decide/static-pod/control-plane-waits.ts';
import { podKey } from '../../decide/static-pod/moves.ts';
import { describeError } from '../../errors.ts';
import type { Clock } from '../../host/clock.ts';
import { answersOk } from '../../host/kubelet/health.ts';
import { findLocalEtcd, moveLeader, readEtcd } from '../../host/etcd/etcd.ts';
import type { Manifest } from '../../static-pods/manifest/manifest.ts';
import type { Log } from '../../telemetry/log.ts';
import type { StaticPodIntent } from './static-pods.ts';
import type { StaticPodView } from './view.ts';

interface MemberDependencies {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

const NO_HOLDS: ReadonlyMap<string, MemberHold> = new Map();

type Intent = Pick<StaticPodIntent, 'leave' | 'targeted' | 'keepParked'>;

/** Observes this member, and hands the lead of etcd over. It remembers since when it waits for what. */
export class MemberWatch {
  readonly #dependencies: MemberDependencies;
  readonly #since = new Map<MemberWait, number>();
  readonly #said = new Set<string>();

  constructor(dependencies: MemberDependencies) {
    this.#dependencies = dependencies;
  }

  /** Why manifests of this member are not moved in this pass, by file. Nothing is asked where none leaves or comes back. */
  async look(
    view: StaticPodView,
    intent: Intent,
    phase: Phase,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, MemberHold>> {
    const { clock } = this.#dependencies;
    const isLeaving = view.inPlace.some((pod) => pod.program !== undefined && intent.leave.has(podKey(pod)));
    const free = view.parked.filter((pod) => pod.program !== undefined && !intent.keepParked(pod));
    if (!isLeaving && free.length === 0) {
      if (view.parked.every(({ program }) => program === undefined)) this.#since.clear();
      return NO_HOLDS;
    }
    const deadline = phase.kind === 'draining' ? phase.deadline?.at : undefined;
    const leftMs = deadline === undefined ? Infinity : deadline - clock.now();
    const over = waitsOver(this.#since, clock.monotonic(), leftMs);
    const stepOf = isLeaving
      ? leavingStep.bind(undefined, await this.#leavingFacts(view, intent, phase, signal))
      : returningStep.bind(undefined, await this.#returningFacts(view, free, signal));
    const [wanted, step] = [stepOf(new Set()), stepOf(over)];
    if (wanted !== undefined && over.has(wanted.wait)) this.#tell('going on without it', wanted.message);
    if (step === undefined) return NO_HOLDS;
    if (!this.#since.has(step.wait)) this.#since.set(step.wait, clock.monotonic());
    const message = await this.#handOver(step, view, signal);
    const held = (isLeaving ? view.inPlace : free).filter(
      ({ program }) => program && step.holds.includes(program.name),
    );
    return new Map(held.map(({ file }) => [file, { wait: step.wait, message }]));
  }

  #tell(what: string, reason: string): void {
    if (!this.#said.has(what + reason)) this.#dependencies.log.warn({ reason }, what);
    this.#said.add(what + reason);
  }

  /** Hands the lead over where that is to be; returns what is waited for. */
  async #handOver({ moveTo, message }: MemberStep, view: StaticPodView, signal: AbortSignal): Promise<string> {
    const program = view.inPlace.find((pod) => pod.program?.name === 'etcd')?.program;
    if (moveTo === undefined || program === undefined) return message;
    try {
      const etcd = await findLocalEtcd(program);
      if (etcd.kind === 'here') await moveLeader(etcd, moveTo.id, signal);
      this.#dependencies.log.info({ to: moveTo.name }, 'handed the lead of etcd over');
      return message;
    } catch (error) {
      signal.throwIfAborted();
      this.#tell('etcd does not hand its lead over', describeError(error));
      return `${message}, and it refuses: ${describeError(error)}`;
    }
  }

  /** What the etcd of this manifest tells, or why it does not; undefined where it cannot be asked at all. */
  async #etcdOf({ program }: Manifest, signal: AbortSignal): Promise<LeavingFacts['etcd']> {
    if (program === undefined) return undefined;
    const etcd = await findLocalEtcd(program);
    if (etcd.kind === 'none') {
      this.#tell('etcd cannot be asked: its lead is not handed over', etcd.reason);
      return undefined;
    }
    try {
      return await readEtcd(etcd, signal);
    } catch (error) {
      signal.throwIfAborted();
      return describeError(error);
    }
  }

  async #leavingFacts(
    view: StaticPodView,
    { targeted, leave }: Intent,
    phase: Phase,
    signal: AbortSignal,
  ): Promise<LeavingFacts> {
    const etcd = view.inPlace.find((pod) => pod.program?.name === 'etcd');
    const isToLeave = etcd !== undefined && (targeted.has(podKey(etcd)) || leave.has(podKey(etcd)));
    const isOffline = phase.kind === 'draining' && phase.mode === 'offline';
    return { etcd: isToLeave ? await this.#etcdOf(etcd, signal) : undefined, isOffline };
  }

  async #returningFacts(
    { inPlace }: StaticPodView,
    free: readonly Manifest[],
    signal: AbortSignal,
  ): Promise<Parameters<typeof returningStep>[0]> {
    const find = (pods: readonly Manifest[], name: string): Manifest | undefined =>
      pods.find((pod) => pod.program?.name === name);
    const etcd = find(inPlace, 'etcd');
    const readyUrl = find(inPlace, 'kube-apiserver')?.program?.readyUrl;
    return {
      etcd: find(free, 'etcd') ? 'it is put back first' : etcd && (await this.#etcdOf(etcd, signal)),
      isReady: find(free, 'kube-apiserver')
        ? false
        : readyUrl === undefined
          ? undefined
          : await answersOk(readyUrl, signal),
    };
  }
}
