import { FORCE_ANNOTATION, SHUTDOWN_KIND_ANNOTATION } from '../../api/names.ts';
import { DRAINED, type NodeMaintenance, type WaitReason } from '../../api/node-maintenance.ts';
import { deadlineOf } from '../deadline/maintenance.ts';
import { begunNode, type NodeIdentity } from '../maintenance/recorded-node.ts';
import { type ShutdownKind, shutdownKind } from './kind.ts';
import { agentNodeOf, stageOf } from '../maintenance/maintenance.ts';

/** Why a machine does not reboot yet. */
interface TurnWait {
  readonly reason: Exclude<WaitReason, 'Waiting'>;
  /** For people. */
  readonly message: string;
}

/** A machine that goes down, as the maintenance says that its agent made for it. */
export interface GoingDown {
  readonly node: string;
  readonly kind: ShutdownKind | 'unknown';
  /**
   * Whether the machine starts again by itself. Where systemd and logind do not name the kind, it is taken for a machine that
   * does not: such a machine waits for no other one, so it cannot hang, and nothing counts on its return.
   */
  readonly comesBack: boolean;
  /** When the machine is gone, in milliseconds since the epoch; absent where nothing named a time. */
  readonly deadline?: number;
}

const COMING_BACK: readonly ShutdownKind[] = ['reboot', 'kexec', 'soft-reboot'];

function kindOf({ metadata }: NodeMaintenance): GoingDown['kind'] {
  return shutdownKind(metadata.annotations?.[SHUTDOWN_KIND_ANNOTATION]) ?? 'unknown';
}

function comesBack(kind: GoingDown['kind']): boolean {
  return COMING_BACK.some((each) => each === kind);
}

/** The machine that goes down with the maintenance; undefined for one that no agent made, or that does not drain. */
export function goingDownOf(maintenance: NodeMaintenance): GoingDown | undefined {
  const node = stageOf(maintenance) === 'Drain' ? agentNodeOf(maintenance) : undefined;
  if (node === undefined) return undefined;
  const kind = kindOf(maintenance);
  const deadline = deadlineOf(maintenance)?.at;
  return { node, kind, comesBack: comesBack(kind), ...(deadline === undefined ? {} : { deadline }) };
}

/** The node that the maintenance reboots, or rebooted; undefined for one of another kind. */
export function rebootNodeOf(maintenance: NodeMaintenance): string | undefined {
  return comesBack(kindOf(maintenance)) ? agentNodeOf(maintenance) : undefined;
}

/**
 * Whether the machine waits for its turn where others reboot too: it comes back, nobody is in a hurry, and the drain has not
 * been forced.
 */
export function takesTurns(maintenance: NodeMaintenance): boolean {
  const goingDown = goingDownOf(maintenance);
  if (goingDown?.comesBack !== true || goingDown.deadline !== undefined) return false;
  return maintenance.metadata.annotations?.[FORCE_ANNOTATION] !== 'true';
}

/** Whether the reboot has not had its turn yet on this very node: then the node is left as it is, schedulable. */
export function isBeforeItsTurn(maintenance: NodeMaintenance, node: NodeIdentity): boolean {
  return takesTurns(maintenance) && begunNode(maintenance.status, node) === undefined;
}

/** The node whose machine goes down with the maintenance; undefined also for a reboot whose turn has not come. */
export function goesDownNow(maintenance: NodeMaintenance): string | undefined {
  const node = goingDownOf(maintenance)?.node;
  return node === undefined || isBeforeItsTurn(maintenance, { name: node }) ? undefined : node;
}

/** What a reboot that has not had its turn waits for, as who gives the turns has written it; undefined where it does not wait. */
export function turnWaitOf(maintenance: NodeMaintenance | undefined): TurnWait | undefined {
  const drained = maintenance?.status?.conditions?.find(({ type }) => type === DRAINED);
  const { reason, message = '' } = drained ?? {};
  return reason === 'WaitingForTurn' || reason === 'WaitingForControlPlane' ? { reason, message } : undefined;
}
