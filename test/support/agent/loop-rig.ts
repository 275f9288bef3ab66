import { Agent } from '../../../src/agent/agent.ts';
import { DrainStep } from '../../../src/agent/drain/drain.ts';
import { type Drainer, type DrainPass, EMPTY_PASS } from '../../../src/agent/drain/drainer.ts';
import { NOTHING_KNOWN } from '../../../src/agent/drain/take-over.ts';
import type { RunningPods } from '../../../src/agent/drain/running-pods.ts';
import { RuntimeSilence } from '../../../src/agent/drain/runtime-silence.ts';
import { createOfflineDrainer } from '../../../src/agent/drain/offline/offline-drain.ts';
import type { OfflinePods } from '../../../src/agent/drain/offline/stop-pods.ts';
import type { AgentParts } from '../../../src/agent/parts.ts';
import type { AgentRecord } from '../../../src/agent/phase/record.ts';
import { parseAgentConfig } from './config.ts';
import type { NodeDrain } from '../../../src/decide/maintenance/maintenance.ts';
import type { OwnState } from '../../../src/decide/maintenance/agent-names.ts';
import type { PhaseFacts } from '../../../src/decide/shutdown/phase.ts';
import { createSteppingClock, type SteppingClock } from '../stand-ins/stepping-clock.ts';
import { createRecordingLog, type RecordingLog } from './recording-log.ts';
import { SHUTDOWN } from './phase-facts.ts';
import { RUNTIME_POD } from './runtime-pod.ts';

/** The world of one agent: what its parts answer now, and what they were asked to do. */
export interface World {
  goingDown: PhaseFacts['goingDown'];
  /** What the cluster says of the NodeMaintenance; undefined for an API server that does not answer. */
  maintenance: OwnState | undefined;
  drained: boolean;
  /** Manifests that are parked, by the name of the maintenance. */
  parked: string[];
  /** Whether an ordinary pod runs, as the container runtime shows it. */
  hasPod: boolean | 'not known';
  /** When the Node object was deleted, on the monotonic clock; undefined while there is one. */
  nodeGoneAt: number | undefined;
  /** How long the hooks of a moment take. */
  hookMs: number;
  /** Names of parts that throw. */
  readonly broken: Set<string>;
  readonly calls: string[];
}

export interface LoopRig {
  readonly world: World;
  readonly clock: SteppingClock;
  readonly log: RecordingLog;
  readonly agent: Agent;
  /** The last record that was written. */
  saved(): AgentRecord | undefined;
  /** Runs iterations until the agent waits for the `waits`th time; returns the calls of those iterations. */
  iterations(waits?: number): Promise<readonly string[]>;
}

/** The transitions in the log, but those that only note what was learned of the shutdown. */
export function transitions(rig: LoopRig): readonly string[] {
  const all = rig.log.lines.flatMap((line) => /"transition":"(\w+)"/.exec(line)?.[1] ?? []);
  return all.filter((name) => name !== 'specify');
}

const CONFIG = '{apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1, kind: AgentConfiguration}';

/** An agent of fake parts that note every call; `clusterConfigured` false is a node without a cluster. */
export function createLoopRig(initial: AgentRecord, clusterConfigured = true): LoopRig {
  const clock = createSteppingClock();
  const log = createRecordingLog();
  const world: World = {
    goingDown: { kind: 'no' },
    maintenance: 'absent',
    drained: false,
    parked: [],
    hasPod: false,
    nodeGoneAt: undefined,
    hookMs: 0,
    broken: new Set(),
    calls: [],
  };
  let saved: AgentRecord | undefined;
  let waitsLeft = 0;
  let progress = 0;
  let end = new AbortController();

  const call = async (name: string): Promise<void> => {
    world.calls.push(name);
    if (world.broken.has(name)) throw new Error(`${name} is broken`);
  };
  const view = () => ({
    inPlace: [],
    ended: [],
    parked: world.parked.map((maintenance) => ({ maintenance, file: 'a.yaml', thisBoot: false })),
    live: undefined,
  });
  const drains = (): readonly NodeDrain[] =>
    world.maintenance === 'open' ? [{ maintenance: 'any', reason: '', drainTargets: [] }] : [];

  const offlinePods = {
    giveBack: async () => {
      await call('kubelet back');
      return true;
    },
    whyNone: () => undefined,
    observe: async () =>
      world.hasPod === 'not known'
        ? { kind: 'unseen', reason: 'no answer' }
        : { kind: 'seen', pods: world.hasPod ? [RUNTIME_POD] : [], staticPods: [] },
    stop: async () => {
      await call('stop offline');
      return [];
    },
  } as unknown as OfflinePods;
  const machine = {
    detector: {
      read: () => call('detect').then(() => world.goingDown),
      restore: () => call('restore the shutdown'),
      scheduled: () => null,
      beginsInMs: () => Infinity,
      managerStopping: () => Promise.resolve(false),
    },
    lock: {
      reconcile: (phase: { kind: string }) => call(phase.kind === 'released' ? 'release the lock' : 'hold the lock'),
      heartbeat: () => Promise.resolve(),
      release: () => call('end the lock'),
      status: () => ({ kind: 'unit', held: true, message: 'held' }),
    },
    otherLocks: { reconcile: () => call('other locks'), status: () => [], hasKubelets: () => false },
    runtime: { close: () => undefined },
    knownPods: { refresh: () => call('known pods'), read: () => Promise.resolve({ pods: new Map() }) },
    offlinePods,
  };
  const cluster = {
    access: { server: new URL('https://api.example:6443') },
    client: {
      send: () =>
        Promise.resolve({
          status: 200,
          headers: {},
          body: { items: [], metadata: { resourceVersion: '1' }, spec: {} },
        }),
    },
    maintenances: {
      synced: () => world.maintenance !== undefined,
      heardAt: () => undefined,
      drains,
      get: () => undefined,
      list: () => [],
    },
    own: {
      state: () => world.maintenance ?? 'absent',
      isFree: () => true,
      resume: () => undefined,
      forget: (name: string) => {
        world.calls.push(`forget ${name.replace(/-[0-9a-z]$/, '')}`);
        if (world.maintenance === 'deleted') world.maintenance = 'absent';
      },
      own: () =>
        world.maintenance === 'open' ? [{ metadata: { name: SHUTDOWN.maintenance }, spec: { stage: 'Drain' } }] : [],
      complete: async () => {
        await call('complete the maintenance');
        world.maintenance = 'completed';
      },
      create: async () => {
        await call('create the maintenance');
        if (world.maintenance === undefined) throw new Error('no answer');
        if (world.maintenance === 'absent') world.maintenance = 'open';
      },
      confirm: () => Promise.resolve(),
      keepAnnotations: () => Promise.resolve(),
    },
    requests: {
      list: () => [],
      synced: () => true,
      watch: (wanted: boolean) => world.calls.push(wanted ? 'watch requests' : 'ignore requests'),
    },
    presence: { show: () => undefined, run: () => Promise.resolve() },
    unrecorded: { find: () => Promise.resolve(new Set<string>()) },
    ownNode: {
      observe: () => {
        const { nodeGoneAt } = world;
        return Promise.resolve(
          nodeGoneAt === undefined
            ? { kind: 'present', node: { metadata: { name: 'node-a' } } }
            : { kind: 'absent', forMs: clock.monotonic() - nodeGoneAt },
        );
      },
    },
    lostWay: { look: () => Promise.resolve(undefined), carriers: () => Promise.resolve([]) },
    interceptor: {
      observe: () => Promise.resolve({ leave: new Map(), targeted: new Set(), mirrors: undefined, unasked: [] }),
      report: () => call('report'),
    },
  };
  const staticPods = {
    observe: async () => {
      await call('observe');
      return view();
    },
    decide: () => Promise.resolve({ actions: [], progress: [] }),
    act: async () => {
      await call('act');
      return true;
    },
    stuck: () => new Set<string>(),
  };
  const manifests = {
    staticPods,
    manual: { isWanted: () => false, settle: () => false, withParks: (_view: object, leave: object) => leave },
    directoryWatch: { set: (wanted: boolean) => call(wanted ? 'watch the directory' : 'leave the directory') },
    locator: {
      store: () => ({ mover: { problem: () => undefined, retry: () => Promise.resolve() } }),
      relocate: () => call('locate'),
      warnings: () => [],
    },
  };
  const people = {
    announce: ({ reason }: { reason: string }) => world.calls.push(`announce ${reason}`),
    notify: async (line: string) => {
      await call(`notify ${line.split(/[:,;]/)[0]}`);
    },
    hooks: {
      run: async ({ name }: { name: string }) => {
        clock.pass(world.hookMs);
        await call(`hooks ${name}`);
      },
    },
    story: { recordTransition: () => undefined, recordProgress: () => undefined, run: () => Promise.resolve() },
  };

  const loop = {
    wakeup: {
      notify: () => undefined,
      wait: async (ms: number) => {
        clock.pass(ms);
        progress = 0;
        if ((waitsLeft -= 1) <= 0) end.abort();
      },
    },
    markProgress: () => {
      if ((progress += 1) > 20) throw new Error('the loop goes on without a wait');
    },
  };
  const byController: Drainer = { pass: () => Promise.resolve({ ...EMPTY_PASS, drained: world.drained }) };
  const offline = createOfflineDrainer({
    pods: offlinePods,
    staticPods,
    silence: new RuntimeSilence(clock),
    drainPlan: [],
    clock,
  });
  const look = (pass: DrainPass): Promise<DrainPass> => Promise.resolve(pass);
  const runningPods: Pick<RunningPods, 'after' | 'afterCompletion'> = { after: look, afterCompletion: look };
  const hands = {
    byController,
    self: { ...byController, stop: () => undefined },
    observer: {
      observe: () => Promise.resolve(NOTHING_KNOWN),
      note: () => undefined,
      suspend: () => undefined,
      stall: () => undefined,
      isBusy: () => false,
      state: () => undefined,
    },
    told: { after: look, stop: () => undefined },
  };
  const parts = {
    config: parseAgentConfig(CONFIG, 'agent.yaml'),
    clock,
    log,
    state: {
      write: async (_file: string, text: string) => {
        const { phase, offlineTargets } = JSON.parse(text) as AgentRecord;
        saved = { phase, offlineTargets };
        await call(`save ${phase.kind}`);
      },
      problem: () => undefined,
      retry: () => Promise.resolve(),
    },
    nodeName: 'node-a',
    bootId: 'boot-1',
    ...machine,
    notices: {
      addTo: (found: object) => found,
      cordon: () => undefined,
      dueInMs: () => Infinity,
      problems: () => [],
      reconcile: () => call('notices'),
      run: () => Promise.resolve(),
    },
    ...people,
    cluster: clusterConfigured ? cluster : undefined,
    ...manifests,
    drain: new DrainStep({ offline, runningPods, cluster: hands }, [], clock),
    ...loop,
  } as unknown as AgentParts;
  const agent = new Agent(parts, initial);
  return {
    world,
    clock,
    log,
    agent,
    saved: () => saved,
    iterations: async (waits = 1) => {
      world.calls.length = 0;
      waitsLeft = waits;
      end = new AbortController();
      await agent.run(new AbortController().signal, end.signal);
      return [...world.calls];
    },
  };
}
