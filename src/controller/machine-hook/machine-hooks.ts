import type { Machine } from '../../api/machine.ts';
import { MACHINE_HOOK_LABEL } from '../../api/names.ts';
import type { Node } from '../../api/pod.ts';
import {
  hasOwnHook,
  hookPatch,
  machineOf,
  type MachinePatch,
  type MachineRef,
  unhookPatch,
  wantsMachine,
} from '../../decide/machine-hook/machine-hook.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import { listAll } from '../../kube/list.ts';
import { API_GROUPS, type ApiGroup, MACHINE_API_GROUP, machinesOf } from '../../kube/maintenance/machines.ts';
import { collectionPath, keyOf, objectPath, type Resource, sendForObject } from '../../kube/resource.ts';
import { createLogOnce } from '../../telemetry/log-once.ts';
import type { ControllerContext } from '../context.ts';

/** How often the copies are looked at; no request is made where they ask for no change. */
const LOOK_EVERY_MS = 2_000;
/** How often the Machines with a hook are listed while there are any. */
const LIST_EVERY_MS = 60_000;
/** After so long a Machine is asked for again that could not be given its hook. */
const AGAIN_MS = 30_000;

export type MachineHookContext = Pick<ControllerContext, 'client' | 'clock' | 'log' | 'nodes' | 'maintenances'>;

class MachineHooks {
  readonly #context: MachineHookContext;
  #machines: Resource | undefined;
  /** The Machines with our hook, by their keys; undefined until they are listed. */
  #hooked: Map<string, Machine> | undefined;
  #listedAt = -Infinity;
  /** When a Machine was asked for that got no hook, by its key and its node. */
  readonly #vain = new Map<string, number>();

  constructor(context: MachineHookContext) {
    this.#context = context;
  }

  /** One look. Throws the first failure after all Machines were looked at. */
  async look(signal: AbortSignal): Promise<void> {
    const now = this.#context.clock.monotonic();
    // A node may name another Machine as often as it likes.
    for (const [tried, at] of this.#vain) if (now - at >= AGAIN_MS) this.#vain.delete(tried);
    const wanted = this.#wanted();
    await this.#list(wanted.size > 0, signal);
    const machines = this.#machines;
    if (machines === undefined) return;
    const failures: unknown[] = [];
    const apart = async (step: () => Promise<void>): Promise<void> => {
      await step().catch((error: unknown) => failures.push(error));
      signal.throwIfAborted();
    };
    for (const { node, ref } of wanted.values()) await apart(() => this.#hook(machines, node, ref, signal));
    for (const [key, machine] of this.#hooked ?? []) {
      const isWanted = wanted.get(key)?.node === machine.status?.nodeRef?.name;
      if (!isWanted) await apart(() => this.#unhook(machines, machine, signal));
    }
    if (failures.length > 0) throw failures[0];
  }

  /** The Machines that have to stay, by their keys. */
  #wanted(): Map<string, { readonly node: string; readonly ref: MachineRef }> {
    const { nodes, maintenances } = this.#context;
    const wantedOf = (node: Node): [string, { node: string; ref: MachineRef }][] => {
      const ref = machineOf(node);
      const { name } = node.metadata;
      const isWanted = ref !== undefined && wantsMachine(maintenances.on(name), node);
      return isWanted ? [[`${ref.namespace}/${ref.name}`, { node: name, ref }]] : [];
    };
    return new Map(nodes.list().flatMap(wantedOf));
  }

  async #list(isNeeded: boolean, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#context;
    const isFirst = this.#hooked === undefined;
    const isDue = clock.monotonic() - this.#listedAt >= LIST_EVERY_MS;
    if (!isDue || !(isFirst || isNeeded || (this.#hooked?.size ?? 0) > 0)) return;
    const path = objectPath(API_GROUPS, MACHINE_API_GROUP);
    const group = await sendForObject<ApiGroup>(client, { method: 'GET', path }, [404], signal);
    this.#machines = machinesOf(group);
    this.#listedAt = clock.monotonic();
    if (this.#machines === undefined) return;
    const scope = { path: collectionPath(this.#machines), query: { labelSelector: MACHINE_HOOK_LABEL } };
    const { items } = await listAll<Machine>(client, scope, (machine) => machine, signal);
    this.#hooked = new Map(items.map((machine) => [keyOf(machine), machine]));
  }

  async #hook(machines: Resource, node: string, ref: MachineRef, signal: AbortSignal): Promise<void> {
    const { client, clock, log } = this.#context;
    const key = `${ref.namespace}/${ref.name}`;
    const tried = `${key} ${node}`;
    if (this.#vain.has(tried) || this.#hooked?.get(key)?.status?.nodeRef?.name === node) return;
    this.#vain.set(tried, clock.monotonic());
    const path = objectPath(machines, ref);
    const machine = await sendForObject<Machine>(client, { method: 'GET', path }, [404], signal);
    const change = machine === undefined ? undefined : hookPatch(machine, node);
    if (machine === undefined || change === undefined) {
      if (machine !== undefined && hasOwnHook(machine)) this.#hooked?.set(key, machine);
      return;
    }
    const written = await this.#patch(path, change, signal);
    this.#vain.delete(tried);
    if (written === undefined) return;
    this.#hooked?.set(key, written);
    log.info({ machine: key, node }, 'Cluster API waits with the Machine until its node is drained');
  }

  async #unhook(machines: Resource, machine: Machine, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#context;
    const path = objectPath(machines, machine.metadata);
    const known = await sendForObject<Machine>(client, { method: 'GET', path }, [404], signal);
    const change = known === undefined ? undefined : unhookPatch(known);
    if (change !== undefined && (await this.#patch(path, change, signal)) === undefined) return;
    this.#hooked?.delete(keyOf(machine));
    log.info({ machine: keyOf(machine) }, 'Cluster API no longer waits with the Machine');
  }

  /** The Machine as it is then; undefined where it is gone or somebody has changed it: the next look decides anew. */
  async #patch(path: string, body: MachinePatch, signal: AbortSignal): Promise<Machine | undefined> {
    const change = { method: 'PATCH', path, body, patch: { kind: 'merge' } } as const;
    return await sendForObject<Machine>(this.#context.client, change, [404, 409], signal);
  }
}

/**
 * Keeps a hook on the Machine of each node that a maintenance drains, and takes every hook of ours back that nothing wants,
 * until `signal` is aborted. Never rejects; a failure is logged once.
 */
export async function runMachineHooks(context: MachineHookContext, signal: AbortSignal): Promise<void> {
  const { clock, log } = context;
  const hooks = new MachineHooks(context);
  const failed = createLogOnce((reason) => {
    log.warn({ reason }, 'hooks of Machines cannot be kept, trying again');
  });
  while (!signal.aborted) {
    try {
      await hooks.look(signal);
      failed(undefined);
    } catch (error) {
      if (signal.aborted) return;
      failed(error instanceof NodemaintError ? `${error.code}: ${describeError(error)}` : describeError(error));
    }
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
  }
}
