/**
 * The kubelet and the container runtime of the demo, for a machine without root, cluster or containerd. It runs one real
 * process for each pod of a static pod folder, and shows them over CRI.
 */
import { describeError, NodemaintError } from '../errors.ts';
import { createSystemClock } from '../host/clock.ts';
import { readManifests } from '../static-pods/directory.ts';
import type { Manifest } from '../static-pods/manifest/manifest.ts';
import type { Log } from '../telemetry/log.ts';
import { serveDemoCri } from './cri-server.ts';
import { type DemoPod, type DemoPodState, startDemoPod } from './pod-process.ts';

interface DemoRuntimeOptions {
  readonly staticPodPath: string;
  /** The path of the CRI socket; an existing socket is replaced. */
  readonly socketPath: string;
  readonly nodeName: string;
  readonly log?: Log;
}

/** A pod of the demo runtime. */
interface DemoPodView {
  readonly namespace: string;
  readonly podName: string;
  readonly file: string;
  readonly sandboxId: string;
  readonly state: DemoPodState;
}

/** Disposing it kills every pod and closes the socket. */
export interface DemoRuntime extends AsyncDisposable {
  /** Oldest first; the latest ended pods included. */
  pods(): readonly DemoPodView[];
}

const POLL_MS = 100;
const KEPT_ENDED_PODS = 20;

/**
 * Starts the pods of the folder and serves them until it is disposed or `signal` is aborted. Resolves when every pod of the
 * folder runs.
 *
 * @throws Error if the socket cannot be made, the signal's reason if it is aborted before.
 */
export async function startDemoRuntime(options: DemoRuntimeOptions, signal: AbortSignal): Promise<DemoRuntime> {
  signal.throwIfAborted();
  const kubelet = new DemoKubelet(options);
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => kubelet.killAll());
  stack.use(await serveDemoCri(options.socketPath, () => kubelet.pods));
  await kubelet.sync(either);
  const loop = kubelet.run(either);
  stack.defer(async () => {
    stop.abort();
    await loop;
  });
  const resources = stack.move();
  let disposed: Promise<void> | undefined;
  const dispose = (): Promise<void> => (disposed ??= resources.disposeAsync());
  signal.addEventListener('abort', () => void dispose(), { once: true, signal: stop.signal });
  return { pods: () => kubelet.pods.map(toView), [Symbol.asyncDispose]: dispose };
}

/** Does what the kubelet does for static pods: starts each pod that has a manifest, and stops the others. */
class DemoKubelet {
  pods: readonly DemoPod[] = [];
  readonly #options: DemoRuntimeOptions;

  constructor(options: DemoRuntimeOptions) {
    this.#options = options;
  }

  /** Returns when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const clock = createSystemClock();
    while (!signal.aborted) {
      try {
        await clock.sleep(POLL_MS, signal);
        await this.sync(signal);
      } catch (error) {
        if (!signal.aborted) this.#options.log?.warn({ err: describeError(error) }, 'cannot sync the demo pods');
      }
    }
  }

  async sync(signal: AbortSignal): Promise<void> {
    const wanted = await this.#readWanted(signal);
    for (const pod of this.pods) {
      if (pod.state() === 'running' && !isSame(wanted.get(keyOf(pod.manifest)), pod.manifest)) this.#stop(pod);
    }
    const alive = new Set(this.pods.filter((pod) => pod.state() !== 'ended').map((pod) => keyOf(pod.manifest)));
    const missing = [...wanted].filter(([key]) => !alive.has(key)).map(([, manifest]) => manifest);
    const started = await Promise.all(missing.map((manifest) => startDemoPod(manifest, this.#options)));
    for (const { manifest, id } of started) {
      this.#options.log?.info({ pod: manifest.podName, file: manifest.file, sandboxId: id }, 'demo pod started');
    }
    const ended = this.pods.filter((pod) => pod.state() === 'ended').slice(-KEPT_ENDED_PODS);
    this.pods = [...ended, ...this.pods.filter((pod) => pod.state() !== 'ended'), ...started];
  }

  async killAll(): Promise<void> {
    await Promise.all(this.pods.map((pod) => pod.stop(0)));
  }

  /** The manifests by pod; two files of one pod count once, and a missing folder is an empty one. */
  async #readWanted(signal: AbortSignal): Promise<ReadonlyMap<string, Manifest>> {
    try {
      const { manifests } = await readManifests(this.#options.staticPodPath, this.#options.nodeName, signal);
      return new Map(manifests.map((manifest) => [keyOf(manifest), manifest]));
    } catch (error) {
      if (error instanceof NodemaintError && error.code === 'STATIC_POD_DIRECTORY_MISSING') return new Map();
      throw error;
    }
  }

  #stop(pod: DemoPod): void {
    const { podName, graceSec } = pod.manifest;
    this.#options.log?.info({ pod: podName, graceSec }, 'demo pod is being stopped');
    // As in the kubelet, nothing waits for the end; killAll ends the remaining pods.
    void pod.stop(graceSec).then(() => this.#options.log?.info({ pod: podName }, 'demo pod ended'));
  }
}

function keyOf({ namespace, podName }: Manifest): string {
  return `${namespace}/${podName}`;
}

function isSame(wanted: Manifest | undefined, actual: Manifest): boolean {
  return wanted?.file === actual.file && wanted.sha256 === actual.sha256;
}

function toView(pod: DemoPod): DemoPodView {
  const { namespace, podName, file } = pod.manifest;
  return { namespace, podName, file, sandboxId: pod.id, state: pod.state() };
}
