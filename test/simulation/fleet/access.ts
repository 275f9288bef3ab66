/** Who reaches the API server of a fleet, what it refuses, and for how long a machine has not got what it needs. */
import type { KubeRequest, KubeResponse } from '../../../src/kube/client.ts';
import { refused } from '../api-server/answer.ts';
import type { VirtualTime } from '../time.ts';
import type { FleetMachine } from './machine.ts';
import { GUARDED, type Refused, REFUSALS } from './refusals.ts';
import type { Settings } from './settings.ts';

/** A program learns within this time that the API server serves again; what it refused is tried again within a minute. */
const HEARD_MS = 60_000;

/** What access depends on. */
interface AccessParts {
  readonly time: VirtualTime;
  readonly settings: Settings;
  readonly machines: () => readonly FleetMachine[];
  /** Whether the control plane that runs on machines of the fleet serves. */
  readonly isControlPlaneUp: () => boolean;
  /** Whether what carries the way of a machine to the API server runs. */
  readonly hasWay: (machine: FleetMachine) => boolean;
  /** Told when something changes. */
  readonly onChange: () => void;
}

/** The way of each machine to the API server. */
export class Access {
  readonly #parts: AccessParts;
  readonly #refusals = new Map<Refused, number>();
  readonly #cutUntil = new Map<string, number>();
  #downUntil = -Infinity;
  /** Since when, and until when, the API server has answered nothing or refused something, by the name of the machine. */
  readonly #troubles = new Map<string, { readonly since: number; readonly until: number }>();

  constructor(parts: AccessParts) {
    this.#parts = parts;
  }

  isUp(): boolean {
    return this.#parts.time.now() >= this.#downUntil && this.#parts.isControlPlaneUp();
  }

  /** Whether a machine is cut off, nobody is answered, or something is refused. */
  isCutOff({ name }: FleetMachine): boolean {
    const now = this.#parts.time.now();
    return now < this.#downUntil || now < (this.#cutUntil.get(name) ?? -Infinity) || this.#isRefusing();
  }

  /** Whether pods of a machine reach the API server, by whichever member answers. */
  isReachedByPods({ name }: FleetMachine): boolean {
    return this.#parts.time.now() >= (this.#cutUntil.get(name) ?? -Infinity) && this.isUp();
  }

  isReached(machine: FleetMachine): boolean {
    return this.isReachedByPods(machine) && this.#parts.hasWay(machine);
  }

  /** For how long a machine has got no answer, or something was refused; 0 where all is well, and the machine knows it. */
  troubledMs({ name }: FleetMachine): number {
    const { since, until } = this.#troubles.get(name) ?? { since: 0, until: -Infinity };
    const now = this.#parts.time.now();
    return now - until < HEARD_MS ? Math.min(now, until) - since : 0;
  }

  /** Why a request of the product is not carried out; undefined where it is. */
  refusal(request: KubeRequest): KubeResponse | undefined {
    const now = this.#parts.time.now();
    const headers = { date: new Date(now).toUTCString() };
    for (const [what, until] of this.#refusals) {
      if (now >= until || !REFUSALS[what](request)) continue;
      return { ...refused(403, 'Forbidden', `a policy refuses ${what}`), headers };
    }
    const { guarded } = this.#parts.settings;
    if (guarded === undefined || !GUARDED[guarded](request) || this.#isWebhookUp()) return undefined;
    const why = 'failed calling webhook "validate.guard.example": no endpoints available for service "guard"';
    return { ...refused(500, 'InternalError', `Internal error occurred: ${why}`), headers };
  }

  #isWebhookUp(): boolean {
    return this.#parts
      .machines()
      .some(({ containers }) =>
        containers.running().some(({ labels, toldAt }) => labels['app'] === 'guard' && toldAt === undefined),
      );
  }

  #isRefusing(): boolean {
    const isRefused = [...this.#refusals.values()].some((until) => this.#parts.time.now() < until);
    return isRefused || (this.#parts.settings.guarded !== undefined && !this.#isWebhookUp());
  }

  refuse(what: Refused, ms: number): void {
    this.#refusals.set(what, this.#parts.time.now() + ms);
    this.#changed(ms);
  }

  /** Cuts machines off the API server, or takes that away from everybody. */
  cutOff(machines: readonly FleetMachine[] | 'all', ms: number): void {
    const until = this.#parts.time.now() + ms;
    if (machines === 'all') this.#downUntil = Math.max(this.#downUntil, until);
    else for (const { name } of machines) this.#cutUntil.set(name, until);
    this.#changed(ms);
  }

  #changed(ms: number): void {
    this.note();
    this.#parts.onChange();
    this.#parts.time.after(ms + 1, () => {
      this.note();
      this.#parts.onChange();
    });
  }

  /** Notes who has trouble now. */
  note(): void {
    for (const machine of this.#parts.machines()) {
      const now = this.#parts.time.now();
      const known = this.#troubles.get(machine.name);
      const isTroubled = !this.isReached(machine) || this.#isRefusing();
      if (isTroubled && (known === undefined || now - known.until >= HEARD_MS))
        this.#troubles.set(machine.name, { since: now, until: Infinity });
      else if (known !== undefined && isTroubled !== (known.until === Infinity))
        this.#troubles.set(machine.name, { ...known, until: isTroubled ? Infinity : now });
    }
  }
}
