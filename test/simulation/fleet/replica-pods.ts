/** The replicas of the controller in a fleet: each runs in a container, and ends with it. */
import type { Connection, Network } from '../network.ts';
import { type RunController, startReplica } from '../replicas.ts';
import { CONTROLLER } from '../world.ts';
import type { Container } from './containers.ts';
import type { FleetMachine } from './machine.ts';

interface Replica {
  readonly program: string;
  readonly connection: Connection;
  readonly stop: AbortController;
  readonly machine: FleetMachine;
}

/** All replicas that run. */
export class ReplicaPods {
  readonly #network: Network;
  readonly #runController: RunController;
  readonly #onFailure: (error: unknown) => void;
  /** By the ID of the container. */
  readonly #running = new Map<string, Replica>();
  #started = 0;

  constructor(network: Network, runController: RunController, onFailure: (error: unknown) => void) {
    this.#network = network;
    this.#runController = runController;
    this.#onFailure = onFailure;
  }

  /** The machine on which a program runs. */
  machineOf(program: string): FleetMachine | undefined {
    return [...this.#running.values()].find((replica) => replica.program === program)?.machine;
  }

  /** Starts a replica in each container of the controller, and asks those to end whose container was told to. */
  look(machines: readonly FleetMachine[]): void {
    for (const machine of machines) {
      for (const container of machine.containers.running()) {
        if (container.labels['app'] !== 'nodemaint-controller') continue;
        const replica = this.#running.get(container.id);
        if (container.toldAt !== undefined) replica?.stop.abort();
        else if (replica === undefined) this.#start(machine, container);
      }
    }
  }

  #start(machine: FleetMachine, { id }: Container): void {
    this.#started += 1;
    const program = `${CONTROLLER}-${this.#started}`;
    const connection = this.#network.connect(program);
    const stop = new AbortController();
    this.#running.set(id, { program, connection, stop, machine });
    const own = { client: connection.client, clock: this.#network.time.clock() };
    startReplica(this.#runController, own, stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) this.#onFailure(error);
    });
  }

  /** The container has ended, and the replica in it with it. */
  end({ id }: Pick<Container, 'id'>): void {
    const replica = this.#running.get(id);
    replica?.connection.kill();
    replica?.stop.abort();
    this.#running.delete(id);
  }

  endAll(): void {
    for (const id of this.#running.keys()) this.end({ id });
  }
}
