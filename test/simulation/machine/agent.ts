/**
 * The agent in a simulation: its loop and all of its parts for the cluster as they are. What reaches the machine is replaced by
 * memory: its files, its static pod directory, its container runtime, and what announces a shutdown.
 */
import { Agent } from '../../../src/agent/agent.ts';
import { Cluster } from '../../../src/agent/cluster.ts';
import { openDrain } from '../../../src/agent/drain-parts.ts';
import { KnownPods } from '../../../src/agent/drain/offline/known-pods.ts';
import { OfflinePods } from '../../../src/agent/drain/offline/stop-pods.ts';
import { createWakeup } from '../../../src/agent/iteration/wakeup.ts';
import { openNoticeMemory } from '../../../src/agent/notices/memory.ts';
import { Notices } from '../../../src/agent/notices/notices.ts';
import type { AgentParts } from '../../../src/agent/parts.ts';
import { readRecord } from '../../../src/agent/phase/record.ts';
import { createAnnouncer } from '../../../src/agent/shutdown/announce.ts';
import { ShutdownDetector } from '../../../src/agent/shutdown/detector.ts';
import { createLockReconciler, type Host } from '../../../src/agent/shutdown/inhibitor-lock.ts';
import { createOtherLocks } from '../../../src/agent/shutdown/other-locks.ts';
import { openStoryRecorder } from '../../../src/agent/shutdown/story-recorder.ts';
import { ManualRequests } from '../../../src/agent/static-pods/manual-requests.ts';
import { StaticPods } from '../../../src/agent/static-pods/static-pods.ts';
import type { NoticeSource } from '../../../src/cloud/notice-source.ts';
import type { AgentConfig } from '../../../src/config/schema.ts';
import { chooseKubeletUnit, type KubeletHome } from '../../../src/decide/machine/kubelet-unit.ts';
import { phaseAtStart } from '../../../src/decide/shutdown/lost-record.ts';
import type { Clock } from '../../../src/host/clock.ts';
import type { ContainerRuntime } from '../../../src/host/cri/runtime.ts';
import type { StateFiles } from '../../../src/host/files/state-files.ts';
import { createKubeletUnit } from '../../../src/host/kubelet/unit.ts';
import { createNoLock, type ShutdownLock } from '../../../src/host/systemd/inhibitor-unit.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { createEventRecorder } from '../../../src/kube/event/recorder.ts';
import type { Log } from '../../../src/telemetry/log.ts';
import type { MachineManifests } from './manifests.ts';

/** What outlives the agent. */
export interface AgentHost {
  readonly nodeName: string;
  readonly bootId: string;
  readonly config: AgentConfig;
  readonly clock: Clock;
  readonly state: StateFiles;
  readonly manifests: MachineManifests;
  readonly runtime: ContainerRuntime;
  /** Where shutdowns are announced. */
  readonly notices: NoticeSource;
  /** Its logind, systemd and kubelet; without them nothing but notices announces a shutdown, and nobody stops the kubelet. */
  readonly system?: AgentSystem;
  /** Whether the API server's address is this machine's. */
  readonly hasOwnWay?: boolean;
}

/** What of a machine announces and holds its shutdown. */
export interface AgentSystem {
  readonly host: Host;
  readonly lock: ShutdownLock;
  readonly kubeletHome: KubeletHome;
  readonly isKubeletUp: () => boolean;
  /** Is given the agent when it runs. */
  readonly onAgent: (agent: Agent) => void;
}

const NO_STORY = { read: () => Promise.resolve(undefined), write: () => Promise.resolve() };
const HOOKS = { run: () => Promise.resolve() };

/** Runs the agent until one of the signals, as `runAgent` does: `stop` asks it to end, `signal` ends it. */
export async function runSimulatedAgent(
  host: AgentHost,
  { client, log }: { readonly client: KubeClient; readonly log: Log },
  stop: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  const { nodeName, bootId, config, clock, state, manifests, runtime, system } = host;
  const lifetime = new AbortController();
  const living = AbortSignal.any([signal, lifetime.signal]);
  const wakeup = createWakeup(clock);
  const wake = (): void => wakeup.notify();
  const recorded = await readRecord(state, (error) => {
    throw error;
  });
  const record = {
    ...recorded,
    phase: phaseAtStart(recorded.phase, manifests.store.mover.parkSteps().values(), bootId),
  };
  const endsWithBoot = config.onBoot === 'complete' ? bootId : undefined;
  const presence = { readDoctor: () => Promise.resolve({ doctor: 'ok' as const, checks: [] }), config: '' };
  const { hasOwnWay = false } = host;
  const server = new URL(`https://${hasOwnWay ? '127.0.0.1' : 'model.example'}:6443`);
  const access = { server, authenticate: () => Promise.resolve() };
  const cluster = new Cluster(
    { access, endsWithBoot, presence, living },
    { client, clock, log, nodeName, isOwn: () => Promise.resolve(hasOwnWay), onChange: wake },
  );
  const events = createEventRecorder('nodemaint-agent', cluster.dependencies);
  const announce = createAnnouncer({ nodeName, events, wall: false, log }, living);
  const lock = createLockReconciler({
    kind: system === undefined ? 'none' : 'unit',
    lock: system?.lock ?? createNoLock(),
    host: undefined,
    clock,
    log,
  });
  const kubelet =
    system &&
    createKubeletUnit(system.host.systemd, {
      choose: () => Promise.resolve(chooseKubeletUnit(undefined, system.kubeletHome)),
      state,
      bootId,
    });
  const knownPods = new KnownPods({
    state,
    nodeName,
    client: cluster.client,
    kubeletPods: () => Promise.resolve(undefined),
    clock,
    log,
  });
  const offlinePods = new OfflinePods({ runtime, kubelet, knownPods, clock, log, onChange: wake }, living);
  system?.host.login1.onPrepareForShutdown(wake);
  const notices = new Notices({
    sources: () => Promise.resolve([host.notices]),
    options: { leadMs: config.cloud.leadSec * 1000 },
    memory: await openNoticeMemory(state, bootId, log),
    clock,
    aheadMs: cluster.dependencies.aheadMs ?? (() => 0),
    log,
    onChange: wake,
  });
  const story = await openStoryRecorder({ nodeName, files: NO_STORY, clock, log }, record.phase);
  const staticPods = new StaticPods({
    store: () => manifests.store,
    nodeName,
    bootId,
    runtime,
    kubeletUp: () => Promise.resolve(system?.isKubeletUp() ?? true),
    kubelet,
    clock,
    log,
    read: manifests.read,
  });
  const triggered = undefined;
  const parts: AgentParts = {
    config,
    clock,
    log,
    nodeName,
    bootId,
    state,
    member: { look: () => Promise.resolve(new Map()) },
    lock,
    runtime,
    knownPods,
    offlinePods,
    notices,
    announce,
    detector: new ShutdownDetector({ host: system?.host, triggered, leadMs: 0, clock, log }),
    otherLocks: createOtherLocks({ host: system?.host, clock, log }),
    notify: () => Promise.resolve(),
    hooks: HOOKS,
    story,
    cluster,
    staticPods,
    manual: new ManualRequests(),
    directoryWatch: { set: () => Promise.resolve() },
    locator: { store: () => manifests.store, relocate: () => Promise.resolve(), warnings: () => [] },
    drain: openDrain({ config, offlinePods, staticPods, runtime, clock, log, cluster, announce }, living),
    wakeup,
    markProgress: () => undefined,
  };
  const agent = new Agent(parts, record);
  system?.onAgent(agent);
  const beside = [cluster.maintenances, cluster.presence, events, notices, story].map((part) => part.run(living));
  try {
    await agent.run(stop, signal);
  } finally {
    lifetime.abort();
    await Promise.all(beside);
  }
}
