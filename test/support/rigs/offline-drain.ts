import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { KnownPods } from '../../../src/agent/drain/offline/known-pods.ts';
import { OfflinePods } from '../../../src/agent/drain/offline/stop-pods.ts';
import { openDrain } from '../../../src/agent/drain-parts.ts';
import { passOverPods, type StaticPodPass } from '../../../src/agent/drain/pod-pass.ts';
import { StaticPods } from '../../../src/agent/static-pods/static-pods.ts';
import type { DrainPlanEntry } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import type { Leave } from '../../../src/decide/static-pod/moves.ts';
import type { RetentionFacts } from '../../../src/decide/static-pod/parked.ts';
import { NodemaintError } from '../../../src/errors.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { createContainerRuntime } from '../../../src/host/cri/runtime.ts';
import { createKubeletUnit, type Units } from '../../../src/host/kubelet/unit.ts';
import { Mover } from '../../../src/static-pods/mover.ts';
import { openTestState } from '../agent/state.ts';
import { createQuickDisk } from '../disks/quick-disk.ts';
import { SILENT_LOG } from '../silent-log.ts';
import { type CriEvent, type CriFault, type CriPod, CriRuntimeStandIn } from '../stand-ins/cri-runtime.ts';
import { drainingPhase } from '../agent/phase-facts.ts';

/** The pods of each tier of the drain, in its order: two of the first, a critical one that ignores SIGTERM, and so on. */
export const TIERS: readonly (readonly CriPod[])[] = [
  [
    { name: 'web', source: 'api', graceSec: 4, endsAfterMs: 80 },
    { name: 'db', source: 'api', graceSec: 4, endsAfterMs: 300 },
  ],
  [{ name: 'stubborn', source: 'api', graceSec: 1, endsAfterMs: Infinity }],
  [{ name: 'cni', source: 'api', labels: { 'pod-template-generation': '1' }, graceSec: 4, endsAfterMs: 80 }],
  [{ name: 'low-n', source: 'file', graceSec: 4, endsAfterMs: 80 }],
  [{ name: 'high-n', source: 'file', graceSec: 4, endsAfterMs: 80 }],
];
const MANIFESTS = { 'low.yaml': 0, 'high.yaml': 2_000_001_000 } as const;
const PHASE = drainingPhase('offline', { maintenance: 'shutdown-n-1', bootId: 'boot-1' });
const CONFIG = { drainPlan: [], maxVolumeWaitSec: 0, progressWaitSec: 300 };
const NO_CLUSTER = { cluster: undefined, announce: () => undefined };
const RETENTION: RetentionFacts = {
  phase: PHASE,
  onBoot: 'complete',
  clusterConfigured: false,
  own: [],
  drains: undefined,
  apiSilent: true,
};
type Leaves = ReadonlyMap<string, Leave>;
/** For a call of the runtime beside the time for which it waits itself: long enough for a machine with much to do. */
const CALL_MS = 1_500;
/** As in the agent, though shorter: a stop that has ended wakes the loop. */
const PAUSE_MS = 150;
const LONGEST_MS = 120_000;

/** What goes wrong, once: the call of the runtime of this number, or one question to the kubelet or to systemd. */
export type OfflineFault =
  | { readonly on: 'runtime'; readonly at: number; readonly kind: CriFault }
  | { readonly on: 'kubelet' | 'systemd' };

/** What was seen of a drain. */
export interface OfflineRun {
  readonly events: readonly CriEvent[];
  /** The targets that were saved, in their order. */
  readonly targets: readonly (readonly DrainPlanEntry[])[];
  /** The calls of the runtime. */
  readonly calls: readonly string[];
  /** Pods that ended while the kubelet would have started them again. */
  readonly comeBack: readonly string[];
  readonly left: string | undefined;
  readonly inPlace: readonly string[];
  readonly ms: number;
}

function podOf(name: string, priority: number, owners: Pod['metadata']['ownerReferences'] = []): Pod {
  const metadata = { name, namespace: 'default', uid: `u-${name}`, ownerReferences: owners };
  return { metadata, spec: { nodeName: 'n', priority } };
}

function manifestOf(file: string, priority: number): string {
  const metadata = { name: path.basename(file, '.yaml') };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: { priority, terminationGracePeriodSeconds: 4 },
  });
}

/** A systemd that stops the kubelet, though not at the first attempt where `fails`. */
class KubeletStandIn {
  isUp = true;
  readonly units: Units;

  constructor(fails: boolean) {
    let failures = fails ? 1 : 0;
    this.units = {
      unitActiveState: () => Promise.resolve(this.isUp ? 'active' : 'inactive'),
      isGoingDown: () => Promise.resolve(false),
      endUnit: () => Promise.resolve(),
      stopUnit: () => {
        if (failures-- > 0) return Promise.reject(new NodemaintError('DBUS_UNAVAILABLE', 'the bus is set up anew'));
        this.isUp = false;
        return Promise.resolve();
      },
      startUnit: () => Promise.resolve(),
    };
  }
}

/** A kubelet that tells the priority of the critical pod, though not at the first question where `fails`. */
function kubeletPodsOf(fails: boolean): () => Promise<readonly Pod[]> {
  let failures = fails ? 1 : 0;
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'cni', uid: 'u-ds', controller: true };
  const all = [podOf('web', 0), podOf('db', 0), podOf('stubborn', 2_000_000_000), podOf('cni', 0, [owner])];
  return () => {
    if (failures-- > 0) return Promise.reject(new Error('connection refused'));
    return Promise.resolve(all);
  };
}

/** Drains a node below `root` as the agent does without an API server, with its own parts, over a runtime that speaks gRPC. */
export async function drainOffline(root: string, fault: OfflineFault | undefined): Promise<OfflineRun> {
  const paths = {
    staticPodPath: path.join(root, 'm'),
    parkedPath: path.join(root, 'p'),
    journalPath: path.join(root, 's', 'journal'),
    journalStandIn: path.join(root, 'r', 'journal'),
  };
  for (const folder of ['m', 'r', 's']) await mkdir(path.join(root, folder), { recursive: true });
  for (const [file, priority] of Object.entries(MANIFESTS)) {
    await writeFile(path.join(paths.staticPodPath, file), manifestOf(file, priority));
  }
  const lifetime = new AbortController();
  const { signal } = lifetime;
  const socket = path.join(root, 'cri.sock');
  const criFault = fault?.on === 'runtime' ? fault : undefined;
  await using standIn = new CriRuntimeStandIn(socket, TIERS.flat(), criFault);
  await standIn.listen();
  const kubeletStandIn = new KubeletStandIn(fault?.on === 'systemd');
  const comeBack: string[] = [];
  standIn.onEnd = ({ name }) => {
    if (kubeletStandIn.isUp) comeBack.push(name);
  };
  const clock = createSystemClock();
  const state = await openTestState(path.join(root, 's'));
  const runtime = createContainerRuntime(socket, CALL_MS, path.join(root, 'groups'));
  const choose = () => Promise.resolve({ kind: 'unit', unit: 'kubelet.service' } as const);
  const kubelet = createKubeletUnit(kubeletStandIn.units, { choose, state, bootId: 'boot-1' });
  const kubeletPods = kubeletPodsOf(fault?.on === 'kubelet');
  const knownPods = new KnownPods({ state, nodeName: 'n', client: undefined, kubeletPods, clock, log: SILENT_LOG });
  let wake = (): void => undefined;
  const onChange = (): void => wake();
  const pods = new OfflinePods({ runtime, kubelet, knownPods, clock, log: SILENT_LOG, onChange }, signal);
  const mover = new Mover(paths, createQuickDisk());
  await mover.recover();
  const store = {
    paths,
    disk: createQuickDisk(),
    mover,
    check: () => Promise.resolve(undefined),
    refusal: () => undefined,
  };
  const staticPods = new StaticPods({
    store: () => store,
    nodeName: 'n',
    bootId: 'boot-1',
    runtime,
    kubeletUp: () => Promise.resolve(kubeletStandIn.isUp),
    kubelet,
    clock,
    log: SILENT_LOG,
  });
  const parts = {
    staticPods,
    manual: { isWanted: () => false, settle: () => false, withParks: (_view: object, leave: Leaves) => new Map(leave) },
    drain: openDrain(
      { config: CONFIG, offlinePods: pods, staticPods, runtime, clock, ...NO_CLUSTER, log: SILENT_LOG },
      signal,
    ),
    cluster: undefined,
  };
  const targets: (readonly DrainPlanEntry[])[] = [];
  const pass = (): Promise<StaticPodPass> => {
    const record = { phase: PHASE, offlineTargets: targets.at(-1) ?? [] };
    const saveTargets = (next: readonly DrainPlanEntry[]): Promise<void> => Promise.resolve(void targets.push(next));
    return passOverPods(parts, { record, retention: RETENTION, saveTargets }, signal);
  };
  let last: StaticPodPass | undefined;
  const startedAt = performance.now();
  while (last?.drained !== true && performance.now() - startedAt < LONGEST_MS) {
    const woken = new Promise<void>((resolve) => (wake = resolve));
    last = await pass();
    await Promise.race([woken, delay(PAUSE_MS)]);
  }
  const ms = performance.now() - startedAt;
  lifetime.abort();
  runtime.close();
  const inPlace = await readdir(paths.staticPodPath);
  await rm(root, { recursive: true });
  const { events, calls } = standIn;
  return { events, targets, calls, comeBack, left: last?.left, inPlace, ms };
}
