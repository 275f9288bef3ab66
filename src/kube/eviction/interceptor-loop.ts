import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { Pod } from '../../api/pod.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import type { KubeClient } from '../client.ts';
import { type Reconcile, WorkQueue } from '../queue.ts';
import { createRecentWrites, type RecentWrites } from '../read-your-writes.ts';
import { EVICTION_REQUESTS, keyOf, objectPath, PODS } from '../resource.ts';
import { sendForObject } from '../request.ts';
import { withServerClock } from '../server-clock.ts';
import { createObjectCache, type ObjectCache, type Transform, type WatchScope } from '../watch.ts';
import { type Interceptor, type InterceptorStep, isActiveInterceptor, reportProgress } from './interceptor.ts';

/** What a loop of its own is made of. */
interface WatchedLoop<T extends KubeObject> {
  readonly name: string;
  readonly parallel: number;
  readonly scope: WatchScope;
  /** What is kept of an object; all of it unless given. */
  readonly read?: Transform<T>;
  /** Makes the loop over the copy of what is watched. */
  readonly loopOver: (objects: Pick<ObjectCache<T>, 'get'>) => {
    readonly reconcile: Reconcile;
    readonly changed: (key: string) => void;
  };
}

/** Runs the loop for each object that is added, changed or deleted, until the signal is aborted. */
async function runWatchedLoop<T extends KubeObject>(
  { name, parallel, scope, read, loopOver }: WatchedLoop<T>,
  dependencies: { readonly client: KubeClient; readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  const onKey = (key: string): void => {
    loop.changed(key);
    queue.add(key);
  };
  const objects = createObjectCache<T>(scope, onKey, dependencies, read);
  const loop = loopOver(objects);
  const queue = new WorkQueue(name, loop.reconcile, parallel, dependencies);
  await Promise.all([objects.run(signal), queue.run(signal)]);
}

/** How often a request that is deleted, but kept by finalizers, is looked at. */
const DELETED_AGAIN_MS = 60_000;

interface InterceptorDependencies {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly request: (key: string) => EvictionRequest | undefined;
  readonly pod: (request: EvictionRequest, signal: AbortSignal) => Promise<Pod | undefined>;
  /** What others of this process write too; the interceptor's own unless given. */
  readonly writes?: RecentWrites<EvictionRequest>;
}

/** A request that this process has acted on, as it was seen last. */
interface Begun {
  readonly request: EvictionRequest;
  /** The interceptor is the active one, has completed, or is not active any more without that. */
  readonly state: 'active' | 'completed' | 'lost';
}

/** A request to act on: as our copy has it and as it is known best, and its pod. */
interface ActionTarget extends Pick<Begun, 'request'> {
  readonly copy: EvictionRequest | undefined;
  readonly pod: Pod;
  /** Otherwise another interceptor is the active one, or none: it is acted on all the same, and nothing is reported. */
  readonly isActive: boolean;
}

/** The loop of an interceptor. */
export class InterceptorLoop {
  readonly #interceptor: Interceptor;
  readonly #dependencies: InterceptorDependencies;
  readonly #writes: RecentWrites<EvictionRequest>;
  readonly #begun = new Map<string, Begun>();
  /** What aborts the work under way, by the key of its request. */
  readonly #underWay = new Map<string, AbortController>();

  constructor(interceptor: Interceptor, dependencies: InterceptorDependencies) {
    this.#interceptor = interceptor;
    this.#dependencies = dependencies;
    this.#writes = dependencies.writes ?? createRecentWrites();
  }

  readonly changed = (key: string): void => {
    const known = this.#begun.get(key);
    if (known?.state !== 'active') return;
    const request = this.#dependencies.request(key);
    const isSame = request !== undefined && request.metadata.uid === known.request.metadata.uid;
    if (isSame && isActiveInterceptor(request, this.#interceptor.name)) return;
    this.#underWay.get(key)?.abort();
  };

  readonly reconcile: Reconcile = async (key, signal) => {
    const copy = this.#dependencies.request(key);
    if (copy === undefined || isFinished(copy)) this.#writes.forget(key);
    const request = this.#writes.latest(key, copy);
    await this.#forgetOther(key, request, signal);
    if (request === undefined) return {};
    const isActive = isActiveInterceptor(request, this.#interceptor.name);
    const pod = await this.#findTarget(request, isActive, signal);
    if (!isActive && !isFinished(request)) this.#noteLoss(key, request);
    if (pod !== undefined && (isActive || this.#interceptor.actsWhileInactive?.(request, pod) === true)) {
      return await this.#actAndReport(key, { copy, request, pod, isActive }, signal);
    }
    if (isFinished(request)) {
      await this.#interceptor.over?.(request, signal);
      this.#begun.delete(key);
    }
    // With time alone a deleted request that finalizers keep may become one to act on all the same.
    const isDeleted =
      request.metadata.deletionTimestamp !== undefined && this.#interceptor.actsWhileInactive !== undefined;
    return isDeleted ? { againMs: DELETED_AGAIN_MS } : {};
  };

  async #actAndReport(
    key: string,
    { copy, request, pod, isActive }: ActionTarget,
    signal: AbortSignal,
  ): Promise<{ readonly againMs?: number }> {
    this.#begun.set(key, { request, state: isActive ? 'active' : 'lost' });
    const step = await this.#act(request, pod, signal);
    if (step === undefined) return {};
    if (isActive) await this.#report(key, { copy, request, step }, signal);
    return step.kind === 'completed' || step.againMs === undefined ? {} : { againMs: step.againMs };
  }

  /** Another UID is another pod of that name: it is not what was asked for. */
  async #findTarget(request: EvictionRequest, isActive: boolean, signal: AbortSignal): Promise<Pod | undefined> {
    if (!isActive && this.#interceptor.actsWhileInactive === undefined) return undefined;
    const pod = await this.#dependencies.pod(request, signal);
    return pod?.metadata.uid === request.spec.target.pod.uid ? pod : undefined;
  }

  /** A request that was deleted since, perhaps with another one in its place, is over too. */
  async #forgetOther(key: string, request: EvictionRequest | undefined, signal: AbortSignal): Promise<void> {
    const known = this.#begun.get(key)?.request;
    if (known === undefined || known.metadata.uid === request?.metadata.uid) return;
    await this.#interceptor.over?.(known, signal);
    this.#begun.delete(key);
  }

  /** KEP-4563, "Interceptor": one that is not active any more aborts what it does, or reports an error. */
  #noteLoss(key: string, request: EvictionRequest): void {
    const known = this.#begun.get(key);
    if (known === undefined) return;
    this.#begun.set(key, { request, state: known.state === 'active' ? 'lost' : known.state });
    if (known.state !== 'active') return;
    const [active] = request.status?.activeInterceptors ?? [];
    const subject = { evictionRequest: key, interceptor: this.#interceptor.name, active };
    this.#dependencies.log.warn(subject, 'another interceptor became active before this one had completed');
  }

  /** Undefined where the interceptor is not the active one any more. */
  async #act(request: EvictionRequest, pod: Pod, signal: AbortSignal): Promise<InterceptorStep | undefined> {
    const key = keyOf(request);
    const lost = new AbortController();
    this.#underWay.set(key, lost);
    try {
      return await this.#interceptor.act(request, pod, AbortSignal.any([signal, lost.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (lost.signal.aborted) return undefined;
      throw error;
    } finally {
      this.#underWay.delete(key);
    }
  }

  async #report(
    key: string,
    { copy, request, step }: Pick<Begun, 'request'> & { copy: EvictionRequest | undefined; step: InterceptorStep },
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock } = this.#dependencies;
    const report = { name: this.#interceptor.name, step, now: clock.now() };
    const after = await reportProgress(client, request, report, signal);
    if (after !== undefined) this.#writes.note(key, copy, after);
    if (step.kind === 'completed') this.#begun.set(key, { request, state: 'completed' });
  }
}

/**
 * Runs an interceptor of its own until the signal is aborted: watches the EvictionRequests that `labelSelector` selects
 * (they carry the labels of their pods), and reads a target when the interceptor is the active one.
 */
export async function runInterceptor(
  interceptor: Interceptor,
  scope: { readonly labelSelector?: string; readonly parallel?: number },
  dependencies: { readonly client: KubeClient; readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  const own = { ...dependencies, ...withServerClock(dependencies.client, dependencies.clock) };
  const { parallel = 1, ...selector } = scope;
  await runWatchedLoop<EvictionRequest>(
    {
      name: interceptor.name,
      parallel,
      scope: { resource: EVICTION_REQUESTS, ...selector },
      loopOver: (requests) =>
        new InterceptorLoop(interceptor, {
          ...own,
          request: (key) => requests.get(key),
          pod: ({ metadata, spec }, wait) => {
            const path = objectPath(PODS, { ...spec.target.pod, namespace: metadata.namespace ?? '' });
            return sendForObject<Pod>(own.client, { method: 'GET', path }, [404], wait);
          },
        }),
    },
    own,
    signal,
  );
}
