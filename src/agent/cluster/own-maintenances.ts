import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { OwnState } from '../../decide/maintenance/agent-names.ts';
import { agentNodeOf, isUsable, stageOf } from '../../decide/maintenance/maintenance.ts';
import { awaitsVolumes, hasDrained } from '../../decide/maintenance/recorded-node.ts';
import { describeError } from '../../errors.ts';
import type { ClusterDependencies } from './dependencies.ts';
import type { CreatedMaintenances } from './created-uids.ts';
import { createMaintenanceWriter, type MaintenanceWriter } from './maintenance-writer.ts';
import type { ShutdownMaintenance } from './maintenance-writer.ts';
import type { NodeMaintenances } from './maintenance-watch.ts';

/** The maintenances that the agent of this node makes: what became of them, and all writes to them. */
export interface OwnMaintenances
  extends Pick<MaintenanceWriter, 'setDeadline' | 'clearDeadline' | 'setShutdownKind' | 'complete' | 'remove'> {
  /** The drains that this node's agent made. */
  own(): readonly NodeMaintenance[];
  /** The maintenances that this node's agent made to cordon the node. */
  ownCordons(): readonly NodeMaintenance[];
  /** What became of the drain that this agent made under the name, or is to make. */
  state(name: string): OwnState;
  /** Whether the drain that this agent made under the name has drained the node. */
  isDrained(name: string): boolean;
  /** Whether the drain of the name waits for volumes of this node. */
  awaitsVolumes(name: string): boolean;
  /** Whether no maintenance of any client has the name, as far as is known. */
  isFree(name: string): boolean;
  /** Forgets what was known of the name, which a new shutdown uses. */
  forget(name: string): void;
  /** Makes the maintenance, or finds it made; the state of its name then says which. */
  create(wanted: ShutdownMaintenance, signal: AbortSignal): Promise<void>;
  /** Reads a drain that was made and that the watch has not shown, from the API server; at most every ten seconds. */
  confirm(name: string, signal: AbortSignal): Promise<void>;
}

/** What this node's maintenances are made with. */
interface OwnMaintenanceParts {
  readonly maintenances: Pick<NodeMaintenances, 'get' | 'list'>;
  readonly made: CreatedMaintenances;
  /** The kernel's boot id, where the node's drains end with the boot. */
  readonly endsWithBoot: string | undefined;
}

/** The note of the boot is given up after this time: an API server that goes away now must not delay the drain. */
const NOTE_MS = 2_000;
/** A watch shows what was made within a second, unless it is interrupted; the API server is asked this often at most. */
const CONFIRM_MS = 10_000;

/** Creates a maintenance, notes what came of it, and then the boot during which it was made. */
function createMaker(
  { log, nodeName }: ClusterDependencies,
  { made, endsWithBoot }: OwnMaintenanceParts,
  writer: MaintenanceWriter,
): OwnMaintenances['create'] {
  /** Not needed for the drain: without the note the agent alone ends the drain after the boot. */
  const tryToNoteBoot = async (name: string, bootId: string, signal: AbortSignal): Promise<void> => {
    try {
      await writer.noteBoot(name, bootId, AbortSignal.any([signal, AbortSignal.timeout(NOTE_MS)]));
    } catch (error) {
      signal.throwIfAborted();
      log.debug({ maintenance: name, reason: describeError(error) }, 'cannot note the boot of the maintenance');
    }
  };
  return async (wanted, signal) => {
    const { name, reason, stage } = wanted;
    const created = await writer.post(wanted, signal);
    const got = created ?? (await writer.read(name, signal));
    if (got === undefined) return;
    if (!isUsable(got, stage, nodeName)) {
      made.refuse(name);
      log.warn({ maintenance: name }, 'another client has a maintenance of this name, taking another name');
      return;
    }
    made.accept(got);
    log.info({ maintenance: name, reason }, created === undefined ? 'found own maintenance' : 'created maintenance');
    if (stage === 'Drain' && endsWithBoot !== undefined) await tryToNoteBoot(name, endsWithBoot, signal);
  };
}

/** Creates the view of this node's maintenances, and their only writer; nothing is asked before the first call. */
export function createOwnMaintenances(dependencies: ClusterDependencies, parts: OwnMaintenanceParts): OwnMaintenances {
  const { clock, nodeName } = dependencies;
  const { maintenances, made } = parts;
  const writer = createMaintenanceWriter(dependencies);
  let confirmedAt: number | undefined;
  /** The copy of the maintenance that this agent made under the name. */
  const ownOf = (name: string): NodeMaintenance | undefined => {
    const found = maintenances.get(name);
    return found?.metadata.uid === made.uidOf(name) ? found : undefined;
  };
  const madeByAgent = (): readonly NodeMaintenance[] =>
    maintenances.list().filter((each) => agentNodeOf(each) === nodeName);
  return {
    own: () => madeByAgent().filter((each) => stageOf(each) !== 'Cordon'),
    ownCordons: () => madeByAgent().filter((each) => stageOf(each) === 'Cordon'),
    state: (name) => made.state(name),
    isDrained: (name) => {
      const found = ownOf(name);
      return found !== undefined && hasDrained(found, nodeName);
    },
    awaitsVolumes: (name) => {
      const found = ownOf(name);
      return found !== undefined && awaitsVolumes(found, nodeName);
    },
    isFree: (name) => made.isFree(name),
    forget: (name) => {
      made.forget(name);
    },
    create: createMaker(dependencies, parts, writer),
    confirm: async (name, signal) => {
      const now = clock.monotonic();
      if (!made.isUnseen(name) || (confirmedAt !== undefined && now - confirmedAt < CONFIRM_MS)) return;
      confirmedAt = now;
      const found = await writer.read(name, signal);
      if (found?.metadata.uid !== made.uidOf(name)) made.lost(name);
    },
    setDeadline: (maintenance, deadline, signal) => writer.setDeadline(maintenance, deadline, signal),
    setShutdownKind: (maintenance, kind, signal) => writer.setShutdownKind(maintenance, kind, signal),
    clearDeadline: (maintenance, at, signal) => writer.clearDeadline(maintenance, at, signal),
    complete: (maintenance, signal) => writer.complete(maintenance, signal),
    remove: (maintenance, signal) => writer.remove(maintenance, signal),
  };
}
