/** Six real nodes in two pools, each with its own systemd, containerd and kubelet in a container, on which the chart runs agents and controller. */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sourceOf } from '../../../.ci/source.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import { createHelm, type Helm } from '../../helm/helm.ts';
import { type ClusterNode, HOST_FROM_NODES, startClusterNode } from '../../systemd/cluster-node.ts';
import { systemRoot } from '../../systemd/roots.ts';
import { runNodemaint } from '../commands/nodemaint.ts';
import { makeTestFolder } from '../folder.ts';
import { nextImage } from '../next-image.ts';
import { waitFor } from '../wait-for.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const CHART = path.join(ROOT, 'manifests', 'chart');
/** The namespace of the chart's release. */
export const HOME = 'nodemaint-system';
/** The nodes, with the pool of each. */
export const POOLS = {
  'node-1': 'a',
  'node-2': 'a',
  'node-3': 'a',
  'node-4': 'b',
  'node-5': 'b',
  'node-6': 'b',
} as const;
/** The names of the nodes. */
export const NAMES = Object.keys(POOLS);
/** The tag of the next version. */
export const NEXT_TAG = 'next';
/** The commit of the next version, which is written into its programs. */
const NEXT_COMMIT = 'f'.repeat(40);
const WAIT_MS = 400_000;
/** Questions that start programs take the processors from the nodes. */
const PAUSE_MS = 3_000;

/** What `nodemaint nodes -o json` says of a node. */
interface Told {
  readonly name: string;
  readonly state: string;
  readonly reason: string;
  readonly agent?: { readonly version: string };
}

/** The cluster. */
export interface PoolFleet extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly folder: string;
  readonly helm: Helm;
  node(name: string): ClusterNode;
  /** Runs a command line on a node; rejects where its exit code is not 0. */
  on(name: string, command: string): Promise<string>;
  /** Runs `nodemaint` on this machine for the cluster. */
  nodemaint(...args: readonly string[]): ReturnType<typeof runNodemaint>;
  /** Installs or upgrades the chart with these values. */
  use(command: 'install' | 'upgrade', values: object): Promise<void>;
  /** What `nodemaint nodes` says, by node. */
  told(): Promise<ReadonlyMap<string, Told>>;
  /** Waits until the nodes are in these states. Rejects with the last ones, and with the pods of the cluster. */
  untilStates(expected: Readonly<Record<string, string>>): Promise<void>;
  /** Waits for what takes as long as roll-outs do, and asks seldom. */
  until(what: string, ask: () => Promise<boolean>): Promise<void>;
  /** The key maxHoldSec of each of these nodes. */
  holds(names: readonly string[]): Promise<readonly number[]>;
  /** Whether the agent of each of these nodes is of the next version. */
  haveNext(names: readonly string[]): Promise<readonly boolean[]>;
}

/** The programs of the image with another commit, by their paths in it. */
async function nextPrograms(): Promise<Readonly<Record<string, string>>> {
  const { commit } = await sourceOf();
  const dist = path.join(ROOT, 'dist');
  const found: Record<string, string> = {};
  for (const name of await readdir(dist)) {
    const text = name.endsWith('.cjs') ? await readFile(path.join(dist, name), 'utf8') : '';
    if (text.includes(commit)) found[`usr/lib/nodemaint/dist/${name}`] = text.replaceAll(commit, NEXT_COMMIT);
  }
  assert.ok(Object.keys(found).length > 0, `no program has the commit ${commit}`);
  return found;
}

/** Starts the control plane and the nodes with the images of this version and the next one; the image must have been built. */
export async function startPoolFleet(signal: AbortSignal): Promise<PoolFleet> {
  await using owned = new AsyncDisposableStack();
  const folder = await makeTestFolder('pools');
  owned.defer(() => rm(folder, { recursive: true, force: true }));
  const archive = path.join(ROOT, 'dist', 'nodemaint-image.tar');
  const next = await nextImage(archive, `localhost/nodemaint:${NEXT_TAG}`, await nextPrograms(), folder);
  const reached = {
    bindAddress: '0.0.0.0',
    extraSans: [HOST_FROM_NODES],
    // The API server calls the webhook at its pods, for there is no kube-proxy for the Service's address.
    apiServerFlags: ['--enable-aggregator-routing=true'],
  };
  const controlPlane = owned.use(await startControlPlane(reached, signal));
  const { kubectl } = controlPlane;
  const root = await systemRoot('12', signal);
  const nodes = new Map<string, ClusterNode>();
  for (const [index, [name, pool]] of Object.entries(POOLS).entries()) {
    const own = path.join(folder, name);
    await mkdir(own);
    const node = owned.use(
      await startClusterNode({ controlPlane, name, number: 31 + index, folder: own, root }, signal),
    );
    for (const image of [archive, next]) await node.importImage(image);
    nodes.set(name, node);
    await kubectl(['label', 'node', name, `example.com/pool=${pool}`]);
  }
  const helm = await createHelm({ folder, kubeconfig: controlPlane.adminKubeconfig }, signal);
  const stack = owned.move();

  const node = (name: string): ClusterNode => {
    const found = nodes.get(name);
    if (found === undefined) throw new Error(`no node ${name}`);
    return found;
  };
  const on = (name: string, command: string): Promise<string> => node(name).system().must(command);
  const nodemaint = (...args: readonly string[]): ReturnType<typeof runNodemaint> =>
    runNodemaint([...args, '--kubeconfig', controlPlane.adminKubeconfig]);
  const told = async (): Promise<ReadonlyMap<string, Told>> => {
    const { stdout } = await nodemaint('nodes', '-o', 'json');
    return new Map((JSON.parse(stdout) as { items: Told[] }).items.map((each) => [each.name, each]));
  };
  const until = async (what: string, ask: () => Promise<boolean>): Promise<void> => {
    const askSeldom = async (): Promise<boolean> => {
      await delay(PAUSE_MS, undefined, { signal });
      return await ask();
    };
    await waitFor(what, askSeldom, { timeoutMs: WAIT_MS, signal });
  };
  return {
    controlPlane,
    folder,
    helm,
    node,
    on,
    nodemaint,
    told,
    until,
    use: async (command, values) => {
      const file = path.join(folder, 'values.json');
      await writeFile(file, JSON.stringify(values));
      const flags = command === 'install' ? ['--create-namespace'] : [];
      await helm([command, 'nodemaint', CHART, '--namespace', HOME, '--values', file, ...flags]);
    },
    untilStates: async (expected) => {
      let last: Readonly<Record<string, string>> = {};
      const are = async (): Promise<boolean> => {
        last = Object.fromEntries([...(await told())].map(([name, { state }]) => [name, state]));
        return Object.entries(expected).every(([name, state]) => last[name] === state);
      };
      await until('the states of the fleet', are).catch(async (error: unknown) => {
        throw new Error(`${JSON.stringify(last)}\n${await kubectl(['get', 'pods', '-A', '-o', 'wide'])}`, {
          cause: error,
        });
      });
    },
    holds: (names) =>
      Promise.all(
        names.map(async (name) => Number(/^maxHoldSec: (\d+)$/m.exec(await on(name, 'nodemaint config show'))?.[1])),
      ),
    haveNext: async (names) => {
      const all = await told();
      return names.map((name) => all.get(name)?.agent?.version.includes(NEXT_COMMIT.slice(0, 12)) === true);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
