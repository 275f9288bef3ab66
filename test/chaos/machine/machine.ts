import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { askAgent } from '../../../src/agent/control/client.ts';
import type { ControlRequest } from '../../../src/agent/control/protocol.ts';
import type { Clock } from '../../../src/host/clock.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';
import { createRecordingLog } from '../../support/agent/recording-log.ts';
import type { AgentDependencies } from '../../../src/agent/parts.ts';
import { runAgent } from '../../../src/agent/start.ts';
import { loadAgentConfig } from '../../../src/config/load.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { serveCri } from '../../support/stand-ins/static-pod-runtime.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import type { MachinePod } from './pod.ts';
import { startRelay } from './relay.ts';
import { RECOVERY_MS, RELEASE_MS } from './times.ts';

/** A manifest of a static pod that was moved, as the test has seen it. */
export interface ManifestMove {
  /** In milliseconds since the epoch. */
  readonly at: number;
  /** The pod as the API server has it, NAMESPACE/NAME. */
  readonly pod: string;
  readonly where: 'in place' | 'away' | 'nowhere';
  /** Whether it was for a shutdown of the machine: then no drain need cover the pod. */
  readonly forShutdown: boolean;
}

/** The machine of the node on which a history has the real agent: its folders, its agent, and what it has seen of both. */
export interface Machine extends AsyncDisposable {
  readonly nodeName: string;
  readonly staticPodPath: string;
  readonly moves: ManifestMove[];
  /** The pods that the container runtime shows. */
  pods: readonly MachinePod[];
  /** The file names of manifests in a place. */
  manifests(where: 'in place' | 'away'): Promise<readonly string[]>;
  /** Puts a manifest in place, as an administrator does. */
  addManifest(name: string, namespace: string): Promise<string>;
  removeManifest(name: string): Promise<string>;
  startAgent(): Promise<string>;
  /** The phase that the agent has recorded; undefined before there is one. */
  phase(): Promise<string | undefined>;
  /** Ends the agent as SIGTERM does, or as SIGKILL does. */
  endAgent(how: 'stop' | 'kill'): Promise<string>;
  isAgentUp(): boolean;
  /** Announces a shutdown of the machine, which never comes; an agent that runs drains the node for it. */
  announceShutdown(): Promise<string>;
  callOffShutdown(): Promise<string>;
  /** Whether a shutdown was announced, or called off so lately that the agent may act for it still. */
  mayGoDown(): boolean;
  /**
   * Whether the agent has released a shutdown that was called off since: it gives the machine a minute to go down before it
   * brings anything back.
   */
  waitsForItsEnd(): Promise<boolean>;
  /** Sets the agent's wall clock so many milliseconds ahead of the true time. */
  setClock(ms: number): void;
  /** Cuts the agent off the API server. */
  cutOff(ms: number): Promise<void>;
  /** When the consequences of the last disturbance of the agent are over, in milliseconds since the epoch. */
  disturbedAt(): number;
  /** Why the agent ended by itself, if it has. */
  failure(): string | undefined;
  /** What the agent has logged. */
  log(): readonly string[];
}

/** How long an agent that was started has to fill its caches. */
const START_MS = 1_500;
/** How long it may take until it hears what it is told: while it starts, it does not. */
const HEAR_MS = 10_000;
/** Its watches pause for so many times as long as the API server was away. */
const PAUSE = 3;

const readMachineFacts = (): Promise<never> => Promise.reject(new Error('the firmware is asked'));
const readDoctor: AgentDependencies['readDoctor'] = () => Promise.resolve({ doctor: 'ok', checks: [] });

interface RunningAgent {
  readonly stop: AbortController;
  readonly kill: AbortController;
  readonly ended: Promise<void>;
}

/** The machine's clock, which steps; durations are never changed. */
function createMachineClock(): Clock & { aheadMs: number } {
  const system = createSystemClock();
  const clock = { ...system, aheadMs: 0, now: () => system.now() + clock.aheadMs };
  return clock;
}

/** Lays out a machine for the node; no agent runs yet, and the node need not exist. */
export async function openMachine(controlPlane: ControlPlane, nodeName: string): Promise<Machine> {
  await using stack = new AsyncDisposableStack();
  const root = await makeTestFolder('chaos-node');
  stack.defer(() => rm(root, { recursive: true, force: true }));
  const places = { 'in place': path.join(root, 'manifests'), away: path.join(root, 'nodemaint-parked') };
  await mkdir(places['in place']);
  const relay = stack.use(
    await startRelay(await controlPlane.kubeconfigFor(`system:node:${nodeName}`, ['system:nodes'])),
  );
  const { kubeconfig } = relay;
  const keys = { kubeconfig, nodeName, cloud: { provider: 'none' } };
  const { configFile, runDirectory } = await writeAgentFiles(root, keys);
  const config = await loadAgentConfig(configFile);
  const clock = createMachineClock();
  const log = createRecordingLog();
  let running: RunningAgent | undefined;
  let failure: string | undefined;
  let disturbedAt = Date.now();
  let calledOffAt = -Infinity;
  const calm = (ms: number): void => {
    disturbedAt = Math.max(disturbedAt, Date.now() + ms);
  };
  const hears = (): boolean => running !== undefined && failure === undefined;
  const tellAgent = async (request: ControlRequest): Promise<void> => {
    const tell = async (): Promise<boolean> => (await askAgent(runDirectory, request)) !== undefined;
    await waitFor(`the agent hears "${request.verb}"`, tell, { timeoutMs: HEAR_MS });
  };

  const machine: Omit<Machine, typeof Symbol.asyncDispose> = {
    nodeName,
    staticPodPath: places['in place'],
    moves: [],
    pods: [],
    manifests: async (where) =>
      (await readdir(places[where]).catch(() => [])).filter((name) => /^s\d\.yaml$/.test(name)),
    addManifest: async (name, namespace) => {
      const file = `${name}.yaml`;
      const known = [...(await machine.manifests('in place')), ...(await machine.manifests('away'))];
      if (known.includes(file)) return 'it exists';
      const spec = {
        priorityClassName: 'system-node-critical',
        containers: [{ name: 'main', image: 'none.invalid/n' }],
      };
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, labels: { app: 'static' } }, spec };
      const temporary = path.join(root, file);
      await writeFile(temporary, JSON.stringify(pod));
      await rename(temporary, path.join(places['in place'], file));
      return 'added';
    },
    removeManifest: async (name) => {
      const removed = await rm(path.join(places['in place'], `${name}.yaml`)).then(
        () => true,
        () => false,
      );
      return removed ? 'removed' : 'none in place';
    },
    startAgent: async () => {
      if (running !== undefined) return 'it runs already';
      const [stop, kill] = [new AbortController(), new AbortController()];
      const ended = runAgent(config, { clock, log, readMachineFacts, readDoctor }, stop.signal, kill.signal).then(
        () => undefined,
        (error: unknown) => {
          if (!kill.signal.aborted) failure = String(error);
        },
      );
      running = { stop, kill, ended };
      calm(START_MS);
      return await Promise.resolve('started');
    },
    phase: async () => {
      const record = await readFile(path.join(root, 'state', 'record.json'), 'utf8').catch(() => '{}');
      return (JSON.parse(record) as { readonly phase?: { readonly kind: string } }).phase?.kind;
    },
    endAgent: async (how) => {
      if (running === undefined) return 'none runs';
      const { stop, kill, ended } = running;
      running = undefined;
      (how === 'stop' ? stop : kill).abort();
      await ended;
      kill.abort();
      return 'ended';
    },
    isAgentUp: () => running !== undefined,
    announceShutdown: async () => {
      if (!hears()) return 'no agent hears it';
      calledOffAt = Infinity;
      await tellAgent({ verb: 'trigger', reason: 'a shutdown of the chaos test' });
      return 'announced';
    },
    callOffShutdown: async () => {
      if (calledOffAt !== Infinity) return 'none is announced';
      if (!hears()) return 'no agent hears it';
      await tellAgent({ verb: 'cancel' });
      calledOffAt = Date.now();
      return 'called off';
    },
    mayGoDown: () => Date.now() - calledOffAt < RECOVERY_MS,
    waitsForItsEnd: async () => {
      if (Date.now() - calledOffAt >= RELEASE_MS) return false;
      return (await machine.phase()) === 'released';
    },
    setClock: (ms) => {
      clock.aheadMs = ms;
    },
    cutOff: async (ms) => {
      disturbedAt = Infinity;
      await relay.cut(ms);
      disturbedAt = Date.now() + PAUSE * ms;
    },
    disturbedAt: () => disturbedAt,
    failure: () => failure,
    log: () => log.lines,
  };
  stack.use(await serveCri(path.join(root, 'cri.sock'), () => machine.pods));
  stack.defer(async () => {
    await machine.endAgent('kill');
  });
  const owned = stack.move();
  return Object.assign(machine, { [Symbol.asyncDispose]: () => owned.disposeAsync() });
}
