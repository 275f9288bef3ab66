import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ContainerRuntime } from '../../../src/host/cri/runtime.ts';
import type { Units } from '../../../src/host/kubelet/unit.ts';
import type { MoverPaths } from '../../../src/static-pods/places.ts';

/** The manifests of a simulated node, and the priorities of their pods. */
export const PRIORITIES = { 'a-low.yaml': 0, 'b-high.yaml': 2_000_001_000 } as const;

/** What a manifest holds. */
export function manifestOf(file: string, priority: number): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: file.slice(0, 1) }, spec: { priority } });
}

/** A node in a folder: its kubelet runs what has a manifest in place, and keeps it down no longer than it is stopped. */
export class SimulatedNode {
  readonly root: string;
  readonly paths: MoverPaths;
  readonly ended: string[] = [];
  now = 1_000_000;
  bootId = 'boot-1';
  #kubelet: 'active' | 'inactive' = 'active';
  #running = new Set<string>();

  constructor(root: string) {
    this.root = root;
    this.paths = {
      staticPodPath: path.join(root, 'manifests'),
      parkedPath: path.join(root, 'parked'),
      journalPath: path.join(root, 'state', 'journal'),
      journalStandIn: path.join(root, 'run', 'journal'),
    };
  }

  async prepare(): Promise<void> {
    for (const folder of ['manifests', 'run']) await mkdir(path.join(this.root, folder), { recursive: true });
    for (const [file, priority] of Object.entries(PRIORITIES)) {
      await writeFile(path.join(this.paths.staticPodPath, file), manifestOf(file, priority));
    }
    await this.sync();
  }

  /** What the kubelet does. */
  async sync(): Promise<void> {
    if (this.#kubelet === 'inactive') return;
    const wanted = new Set((await readdir(this.paths.staticPodPath)).filter((name) => !name.startsWith('.')));
    for (const file of this.#running) if (!wanted.has(file)) this.ended.push(file);
    this.#running = wanted;
  }

  async boot(): Promise<void> {
    this.bootId = 'boot-2';
    this.#kubelet = 'active';
    this.#running = new Set();
    await rm(path.join(this.root, 'run'), { recursive: true });
    await mkdir(path.join(this.root, 'run'));
    await this.sync();
  }

  #stop(id: string): Promise<void> {
    if (this.#running.delete(id)) this.ended.push(id);
    return Promise.resolve();
  }

  get running(): readonly string[] {
    return [...this.#running].sort();
  }

  readonly runtime: ContainerRuntime = {
    version: () => Promise.reject(new Error('not asked')),
    livePods: () =>
      Promise.resolve(
        [...this.#running].map((file) => ({
          id: file,
          namespace: 'default',
          podName: `${file.slice(0, 1)}-n`,
          podUid: file,
          ready: true,
          createdAt: 0,
          annotations: { 'kubernetes.io/config.source': 'file' },
          labels: {},
          runningContainers: 1,
        })),
      ),
    stopPod: (id) => this.#stop(id),
    stopPodByForce: (id) => this.#stop(id),
    close: () => undefined,
  };

  readonly units: Units = {
    unitActiveState: () => Promise.resolve(this.#kubelet),
    isGoingDown: () => Promise.resolve(false),
    endUnit: () => Promise.resolve(),
    stopUnit: () => {
      this.#kubelet = 'inactive';
      return Promise.resolve();
    },
    startUnit: () => {
      this.#kubelet = 'active';
      return this.sync();
    },
  };
}
