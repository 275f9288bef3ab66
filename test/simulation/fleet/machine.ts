/** One machine of a fleet: its power, its kubelet, its containers and its agent. */
import { CONFIG_API_VERSION } from '../../../src/api/names.ts';
import type { Pod } from '../../../src/api/pod.ts';
import type { Agent } from '../../../src/agent/agent.ts';
import type { Phase } from '../../../src/decide/shutdown/phase.ts';
import type { ShutdownKind } from '../../../src/decide/shutdown/kind.ts';
import type { Clock } from '../../../src/host/clock.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { parseAgentConfig } from '../../support/agent/config.ts';
import { runSimulatedAgent } from '../machine/agent.ts';
import { createMemoryFiles } from '../machine/machine.ts';
import { createMachineManifests } from '../machine/manifests.ts';
import type { Connection, Network } from '../network.ts';
import { type Container, Containers } from './containers.ts';
import type { Settings } from './settings.ts';
import { type Prepared, systemOf } from './system.ts';

/** From the release of the lock to the end of all processes. */
const GOING_DOWN_MS = 1_500;
/** systemd starts an agent that has ended again. */
const AGENT_RESTART_MS = 2_000;

/** An agent that waits looks each second; where nothing has happened for a while, each fifth look tells as much: a Lease that is read more seldom counts as not followed. */
const LOOK_MS = 1_000;
const CALM_LOOK_MS = 5_000;

/** What a machine tells of itself, and asks of its fleet. */
export interface MachineEvents {
  /** Whether nothing has happened for a while. */
  isCalm(): boolean;
  /** Something has changed that kubelets and controllers act on. */
  changed(): void;
  ended(machine: FleetMachine, container: Container): void;
  /** The agent tells a pod to end over the container runtime. */
  stopping(machine: FleetMachine, container: Container): void;
  /** The agent goes on without the API server. */
  goesOnAlone(machine: FleetMachine): void;
  /** The power is about to go; everything still runs. */
  goesDown(machine: FleetMachine): void;
  failed(error: unknown): void;
}

/** Where a machine is. */
type Power = 'up' | 'going down' | 'off';

interface RunningAgent {
  readonly connection: Connection;
  readonly kill: AbortController;
  readonly agent?: Agent;
}

/** A machine and everything on it. */
export class FleetMachine {
  readonly name: string;
  readonly manifests;
  readonly containers: Containers;
  readonly #network: Network;
  readonly #settings: Settings;
  readonly #events: MachineEvents;
  readonly #state: ReturnType<typeof createMemoryFiles>;
  readonly #listeners = new Set<() => void>();
  #running: RunningAgent | undefined;
  #boots = 1;
  power: Power = 'up';
  /** The shutdown that is held or goes on; undefined while there is none. */
  prepared: Prepared | undefined;
  /** When the shutdown was asked for. */
  askedAt = -Infinity;
  /** What happens when it is down: back after so long, or not at all. */
  #backAfterMs = Infinity;
  #isKubeletUp = true;
  /** What of its pods the kubelet has heard last; undefined where it has heard nothing since its start. */
  known: readonly Pod[] | undefined;
  #kubeletDownUntil = -Infinity;
  /** When its kubelet was heard last by the API server. */
  heardAt: number;
  bootedAt: number;

  constructor(name: string, network: Network, settings: Settings, events: MachineEvents) {
    this.name = name;
    this.#network = network;
    this.#settings = settings;
    this.#events = events;
    this.heardAt = network.time.now();
    this.bootedAt = network.time.now();
    this.manifests = createMachineManifests(name);
    const files = createMemoryFiles();
    this.#state = {
      ...files,
      write: async (file, data) => {
        const wasAlone = this.#isAlone();
        await files.write(file, data);
        if (!wasAlone && this.#isAlone()) events.goesOnAlone(this);
      },
    };
    this.containers = new Containers(network.time, (container) => {
      events.ended(this, container);
      events.changed();
    });
  }

  get bootId(): string {
    return `${this.name}-boot-${this.#boots}`;
  }

  /** The user as which the agent writes. */
  get user(): string {
    return `system:node:${this.name}`;
  }

  /** Whether its agent has stopped the kubelet. */
  readonly isKubeletStopped = (): boolean => !this.#isKubeletUp;

  isUp(): boolean {
    return this.power !== 'off';
  }

  isKubeletUp(): boolean {
    const isBack = this.#network.time.now() >= this.#kubeletDownUntil;
    return this.power === 'up' && this.#isKubeletUp && isBack && (!this.#settings.isOneUnit || this.containers.isUp());
  }

  /** The kubelet ends, by nobody's will, and systemd or a person starts it again. */
  stopKubelet(ms: number): void {
    this.#kubeletDownUntil = this.#network.time.now() + ms;
    if (this.#settings.isOneUnit) this.containers.disturb('away', ms);
    this.known = undefined;
    this.#network.time.after(ms, () => this.#events.changed());
  }

  phase(): Phase {
    const record = JSON.parse(this.#state.text('record.json') ?? '{}') as { readonly phase?: Phase };
    return record.phase ?? { kind: 'watching' };
  }

  #isAlone(): boolean {
    const phase = this.phase();
    return phase.kind === 'draining' && phase.mode === 'offline';
  }

  /** Whether its agent was told last that it would take the quorum: it waits for that also while it cannot ask again. */
  isGuarded(): boolean {
    const phase = this.phase();
    return phase.kind === 'draining' && phase.stand === 'guarded';
  }

  /** What `nodemaint status` would show; undefined where no agent runs. */
  status(): ReturnType<Agent['status']> | undefined {
    return this.#running?.agent?.status();
  }

  /** Whether a shutdown was asked for and the machine is still up. */
  isHeld(): boolean {
    return this.power === 'up' && this.prepared !== undefined;
  }

  /** Asks for a shutdown, which the agent holds; `backAfterMs` is how long the machine is away. */
  shutDown(kind: ShutdownKind | undefined, backAfterMs: number): void {
    if (this.power !== 'up' || this.prepared !== undefined) return;
    this.prepared = { kind };
    this.askedAt = this.#network.time.now();
    this.#backAfterMs = backAfterMs;
    for (const listener of this.#listeners) listener();
  }

  callOff(): void {
    if (this.power !== 'up') return;
    this.prepared = undefined;
    for (const listener of this.#listeners) listener();
  }

  startAgent(): void {
    if (this.power === 'off' || this.#running !== undefined) return;
    const connection = this.#network.connect(this.user);
    const kill = new AbortController();
    let own: RunningAgent = { connection, kill };
    this.#running = own;
    this.#listeners.clear();
    const system = systemOf(
      {
        prepared: () => this.prepared,
        isKubeletUp: () => this.isKubeletUp(),
        setKubelet: (isUp) => {
          this.#isKubeletUp = isUp;
          this.known = undefined;
          this.#events.changed();
        },
        onRelease: () => {
          if (this.#running === own) this.#released();
        },
      },
      this.#listeners,
      {
        isOneUnit: this.#settings.isOneUnit,
        onAgent: (agent) => {
          if (this.#running !== own) return;
          own = { ...own, agent };
          this.#running = own;
        },
      },
    );
    const { onBoot } = this.#settings;
    const config = { apiVersion: CONFIG_API_VERSION, kind: 'AgentConfiguration', kubeconfig: '/kubeconfig', onBoot };
    const text = JSON.stringify({ ...config, nodeName: this.name, cloud: { provider: 'none' } });
    const host = {
      nodeName: this.name,
      bootId: this.bootId,
      config: parseAgentConfig(text, 'agent.yaml'),
      clock: this.#clock(),
      state: this.#state,
      manifests: this.manifests,
      runtime: this.containers.runtime((container) => {
        if (this.#running === own) this.#events.stopping(this, container);
      }),
      notices: { name: 'none', everyMs: 3_600_000, read: () => Promise.resolve([]) },
      system,
      hasOwnWay: this.#settings.hasOwnWay,
    };
    const never = new AbortController().signal;
    void runSimulatedAgent(host, { client: connection.client, log: SILENT_LOG }, never, kill.signal).catch(
      (error: unknown) => {
        if (!kill.signal.aborted) this.#events.failed(error);
      },
    );
  }

  #clock(): Clock {
    const clock = this.#network.time.clock();
    return {
      ...clock,
      sleep: (ms, signal) => clock.sleep(ms === LOOK_MS && this.#events.isCalm() ? CALM_LOOK_MS : ms, signal),
    };
  }

  /** Ends the agent as SIGKILL does; systemd starts it again. */
  killAgent(): void {
    this.#endAgent();
    this.#network.time.after(AGENT_RESTART_MS, () => this.startAgent());
  }

  #endAgent(): void {
    this.#running?.connection.kill();
    this.#running?.kill.abort();
    this.#running = undefined;
  }

  #released(): void {
    if (this.prepared === undefined || this.power !== 'up') return;
    this.power = 'going down';
    this.#network.time.after(GOING_DOWN_MS, () => {
      this.#events.goesDown(this);
      this.cutPower(this.#backAfterMs);
    });
  }

  /** Everything ends at once; the machine is back after so long. */
  cutPower(backAfterMs: number): void {
    if (this.power === 'off') return;
    this.power = 'off';
    this.prepared = undefined;
    this.#endAgent();
    this.containers.clear();
    this.#events.changed();
    if (backAfterMs === Infinity) return;
    this.#network.time.after(backAfterMs, () => this.#boot());
  }

  #boot(): void {
    this.#boots += 1;
    this.power = 'up';
    this.#isKubeletUp = true;
    this.#kubeletDownUntil = -Infinity;
    this.known = undefined;
    this.bootedAt = this.#network.time.now();
    this.startAgent();
    this.#events.changed();
  }

  /** Lets the end of a program at a write happen: before the write arrives, or after it without its answer. */
  killAgentAtWrite(writes: number, arrives: boolean): void {
    const own = this.#running;
    own?.connection.killAtWrite(writes, arrives);
    this.#network.time.after(30_000, () => {
      if (this.#running === own) this.killAgent();
    });
  }

  /** Ends everything at the end of a history. */
  end(): void {
    this.#endAgent();
  }
}
