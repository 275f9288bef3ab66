/** A machine in a simulation: what its agent and its kubelet have on it, all of it in memory. */
import { CONFIG_API_VERSION } from '../../../src/api/names.ts';
import type { NoticeSource } from '../../../src/cloud/notice-source.ts';
import type { ContainerRuntime } from '../../../src/host/cri/runtime.ts';
import type { StateFiles } from '../../../src/host/files/state-files.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import type { Log } from '../../../src/telemetry/log.ts';
import { collectionPath, objectPath, PODS } from '../../../src/kube/resource.ts';
import { isMirrorOf } from '../../chaos/machine/kubelet.ts';
import { type MachinePod, startPod } from '../../chaos/machine/pod.ts';
import { mirrorPodObject } from '../../chaos/objects.ts';
import type { ClusterPart } from '../../chaos/world.ts';
import type { Machine, ManifestMove } from '../../chaos/machine/machine.ts';
import { RECOVERY_MS, RELEASE_MS } from '../../chaos/machine/times.ts';
import { parseAgentConfig } from '../../support/agent/config.ts';
import type { VirtualTime } from '../time.ts';
import { runSimulatedAgent } from './agent.ts';
import { createMachineManifests, type MachineManifests } from './manifests.ts';

const NO_GRACE = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 };
const CONFIG = {
  apiVersion: CONFIG_API_VERSION,
  kind: 'AgentConfiguration',
  kubeconfig: '/kubeconfig',
  lock: 'none',
  cloud: { provider: 'none' },
};

/** The files of the agent, which outlive it. */
export function createMemoryFiles(): StateFiles & { text(name: string): string | undefined } {
  const files = new Map<string, string>();
  return {
    text: (name) => files.get(name),
    read: (name) => Promise.resolve(files.get(name)),
    write: (name, data) => {
      if (data === '') files.delete(name);
      else files.set(name, data);
      return Promise.resolve();
    },
    remove: (name) => Promise.resolve(void files.delete(name)),
    setAside: (name, suffix) => {
      files.set(`${name}.${suffix}`, files.get(name) ?? '');
      files.delete(name);
      return Promise.resolve(`${name}.${suffix}`);
    },
    retry: () => Promise.resolve(),
    problem: () => undefined,
  };
}

function runtimeOf(pods: () => readonly MachinePod[]): ContainerRuntime {
  const stop = async (id: string): Promise<void> => {
    await pods()
      .find((pod) => pod.id === id)
      ?.stop(0);
  };
  return {
    version: () => Promise.resolve({ runtimeName: 'memory', runtimeVersion: '1' }),
    livePods: () =>
      Promise.resolve(
        pods()
          .filter((pod) => pod.state() !== 'ended')
          .map(({ manifest, id, createdAt }) => ({
            id,
            namespace: manifest.namespace,
            podName: manifest.podName,
            podUid: manifest.sha256,
            ready: true,
            createdAt,
            annotations: { 'kubernetes.io/config.source': 'file' },
            labels: {},
            runningContainers: 1,
            graceSec: manifest.graceSec,
          })),
      ),
    stopPod: stop,
    stopPodByForce: stop,
    close: () => undefined,
  };
}

/** Announces a shutdown while somebody says so. */
function createAnnouncement(): NoticeSource & { set(isThere: boolean): void } {
  let isThere = false;
  let changed = Promise.withResolvers<undefined>();
  changed.resolve(undefined);
  return {
    name: 'a simulated shutdown',
    everyMs: 0,
    set: (value) => {
      isThere = value;
      changed.resolve(undefined);
    },
    // The first reading answers at once, each later one when something has changed.
    read: async (signal) => {
      const ended = Promise.withResolvers<undefined>();
      signal.addEventListener('abort', () => ended.resolve(undefined));
      await Promise.race([changed.promise, ended.promise]);
      signal.throwIfAborted();
      changed = Promise.withResolvers();
      return isThere
        ? [{ id: 'simulated', kind: 'terminate', reason: 'a simulated shutdown', provider: 'simulated' }]
        : [];
    },
  };
}

/** Starts the pods of the manifests in place, and ends the others; the API server's copies follow. */
async function syncPods(
  part: ClusterPart,
  nodeName: string,
  manifests: MachineManifests,
  pods: readonly MachinePod[],
): Promise<readonly MachinePod[]> {
  const inPlace = [...manifests.inPlace.values()];
  for (const pod of pods) if (!inPlace.some(({ podName }) => podName === pod.manifest.podName)) pod.end();
  const live = pods.filter((pod) => pod.state() !== 'ended');
  const missing = inPlace.filter(({ podName }) => !live.some(({ manifest }) => manifest.podName === podName));
  const now = [...live, ...missing.map(startPod)];
  const [namespace] = part.namespaces;
  const mirrors = part.pods().filter((pod) => isMirrorOf({ nodeName }, pod.metadata.name));
  for (const { metadata } of mirrors) {
    if (now.some(({ manifest }) => manifest.podName === metadata.name)) continue;
    const body = { ...NO_GRACE, preconditions: { uid: metadata.uid } };
    await part.send({ method: 'DELETE', path: objectPath(PODS, metadata), body });
  }
  if (!part.nodes().some(({ metadata }) => metadata.name === nodeName)) return now;
  for (const { manifest } of now.filter((pod) => pod.state() === 'running')) {
    if (mirrors.some(({ metadata }) => metadata.name === manifest.podName)) continue;
    const body = mirrorPodObject(manifest.podName, namespace, nodeName);
    await part.send({ method: 'POST', path: collectionPath(PODS, namespace), body });
  }
  return now;
}

/** What the agent of a simulated machine runs with. */
export interface AgentRun {
  readonly log: Log;
  /** Aborted when the agent is asked to stop. */
  readonly asked: AbortSignal;
  /** Aborted when the agent ends without warning. */
  readonly killed: AbortSignal;
}

/** A machine in memory, and what histories of the simulation do to it. */
export interface SimulatedMachine
  extends AsyncDisposable,
    Pick<
      Machine,
      | 'nodeName'
      | 'moves'
      | 'manifests'
      | 'addManifest'
      | 'removeManifest'
      | 'phase'
      | 'announceShutdown'
      | 'callOffShutdown'
      | 'mayGoDown'
      | 'waitsForItsEnd'
      | 'setClock'
    > {
  /** Runs the agent of the machine, with the identity of its node. */
  runAgent(run: AgentRun): Promise<void>;
  /** Makes the machine another boot, after which no shutdown is announced; no agent may run. */
  reboot(): Promise<void>;
  /** When the machine was made another boot last; Infinity before that. */
  bootedAt(): number;
  /** Plays its kubelet and its container runtime once. */
  look(part: ClusterPart): Promise<void>;
  /** Whether nothing has changed on the machine since it was looked at. */
  isStill(): boolean;
}

/** Lays out the machine of a node; no agent runs yet. */
export function createSimulatedMachine(
  time: VirtualTime,
  nodeName: string,
  connect: () => KubeClient,
): SimulatedMachine {
  const manifests = createMachineManifests(nodeName);
  const state = createMemoryFiles();
  const notices = createAnnouncement();
  const config = parseAgentConfig(JSON.stringify({ ...CONFIG, nodeName }), 'agent.yaml');
  const moves: ManifestMove[] = [];
  let pods: readonly MachinePod[] = [];
  const runtime = runtimeOf(() => pods);
  let boots = 1;
  let bootedAt = Infinity;
  let aheadMs = 0;
  /** When the last shutdown was called off: Infinity while one is announced. */
  let calledOffAt = -Infinity;
  const mayGoDown = (): boolean => time.now() - calledOffAt < RECOVERY_MS;
  const places = (): string => [...manifests.inPlace.keys(), '', ...manifests.parked.keys()].join(' ');
  let seenPlaces = places();
  const noteMoves = (part: ClusterPart): void => {
    for (const { file, podName } of [
      ...manifests.inPlace.values(),
      ...[...manifests.parked.values()].map((each) => each.manifest),
    ]) {
      const where = manifests.inPlace.has(file) ? 'in place' : 'away';
      const pod = `${part.namespaces[0]}/${podName}`;
      if (moves.findLast((each) => each.pod === pod)?.where === where) continue;
      moves.push({ at: time.now(), pod, where, forShutdown: mayGoDown() });
    }
  };
  const phase = (): Promise<string | undefined> => {
    const record = JSON.parse(state.text('record.json') ?? '{}') as { readonly phase?: { readonly kind: string } };
    return Promise.resolve(record.phase?.kind);
  };
  const look = async (part: ClusterPart): Promise<void> => {
    pods = await syncPods(part, nodeName, manifests, pods);
    noteMoves(part);
    seenPlaces = places();
  };
  return {
    nodeName,
    moves,
    look,
    isStill: () => seenPlaces === places() && pods.every((pod) => pod.state() === 'running'),
    manifests: (where) => Promise.resolve([...(where === 'away' ? manifests.parked : manifests.inPlace).keys()]),
    removeManifest: (name) => Promise.resolve(manifests.remove(name) ? 'removed' : 'none in place'),
    addManifest: (name, namespace) => Promise.resolve(manifests.add(name, namespace) ? 'added' : 'it exists'),
    phase,
    reboot: () => {
      boots += 1;
      bootedAt = time.now();
      calledOffAt = -Infinity;
      notices.set(false);
      return Promise.resolve();
    },
    bootedAt: () => bootedAt,
    announceShutdown: () => {
      calledOffAt = Infinity;
      notices.set(true);
      return Promise.resolve('announced');
    },
    callOffShutdown: () => {
      if (calledOffAt !== Infinity) return Promise.resolve('none is announced');
      calledOffAt = time.now();
      notices.set(false);
      return Promise.resolve('called off');
    },
    mayGoDown,
    waitsForItsEnd: async () => time.now() - calledOffAt < RELEASE_MS && (await phase()) === 'released',
    setClock: (ms) => (aheadMs = ms),
    runAgent: async ({ log, asked, killed }) => {
      const host = {
        nodeName,
        bootId: `boot-${boots}`,
        config,
        clock: time.clock(() => aheadMs),
        state,
        manifests,
        runtime,
        notices,
      };
      await runSimulatedAgent(host, { client: connect(), log }, asked, killed);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
