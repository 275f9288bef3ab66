import { FORCE_ANNOTATION, SHUTDOWN_KIND_ANNOTATION } from '../../api/names.ts';
import { DRAINED, type NodeMaintenance, type WaitReason } from '../../api/node-maintenance.ts';
import { deadlineOf } from '../deadline/maintenance.ts';
import { begunNode, drainBegan, type NodeIdentity } from '../maintenance/recorded-node.ts';
import { agentNodeOf, stageOf } from '../maintenance/maintenance.ts';
import { REBOOT_TERM_MS } from './limit.ts';
import { timeOf } from '../time.ts';
import { type ShutdownKind, shutdownKind } from '../shutdown/kind.ts';

/** Why a machine does not reboot yet. */
export interface TurnWait {
  readonly reason: Exclude<WaitReason, 'Waiting'>;
  /** For people. */
  readonly message: string;
}

const FOR_GOOD: readonly ShutdownKind[] = ['poweroff', 'halt'];

/** A machine with less time than this does not wait for others; a deadline that is further away is none. */
const HURRY_MS = 15 * 60_000;

/** Whether the machine of the agent's maintenance starts again by itself. A kind that is not known counts as a reboot. */
function comesBack({ metadata }: NodeMaintenance): boolean {
  const kind = shutdownKind(metadata.annotations?.[SHUTDOWN_KIND_ANNOTATION]);
  return kind === undefined || !FOR_GOOD.includes(kind);
}

/** The node that the maintenance reboots, or rebooted, as its agent says; undefined for one of another kind. */
export function rebootNodeOf(maintenance: NodeMaintenance): string | undefined {
  return comesBack(maintenance) ? agentNodeOf(maintenance) : undefined;
}

/** The node whose machine goes down with the maintenance and does not start again; undefined for any other one. */
export function nodeGoneForGood(maintenance: NodeMaintenance): string | undefined {
  return stageOf(maintenance) === 'Drain' && !comesBack(maintenance) ? agentNodeOf(maintenance) : undefined;
}

/** Whether the reboot has not had its turn yet on this very node: then the node is left as it is, schedulable. */
export function isBeforeItsTurn(maintenance: NodeMaintenance, node: NodeIdentity): boolean {
  const isReboot = stageOf(maintenance) === 'Drain' && rebootNodeOf(maintenance) === node.name;
  return isReboot && begunNode(maintenance.status, node) === undefined;
}

/** Whether the machine waits for others before it reboots: nobody is in a hurry, and the drain has not been forced. */
export function takesTurns(maintenance: NodeMaintenance, now: number): boolean {
  if (stageOf(maintenance) !== 'Drain' || rebootNodeOf(maintenance) === undefined) return false;
  if (maintenance.metadata.annotations?.[FORCE_ANNOTATION] === 'true') return false;
  return (deadlineOf(maintenance)?.at ?? Infinity) - now > HURRY_MS;
}

/** The node whose machine goes down with the maintenance; undefined also for a reboot whose turn has not come. */
export function goesDownNow(maintenance: NodeMaintenance): string | undefined {
  const node = stageOf(maintenance) === 'Drain' ? agentNodeOf(maintenance) : undefined;
  return node === undefined || isBeforeItsTurn(maintenance, { name: node }) ? undefined : node;
}

/** Whether the machine of another node reboots before that of `own` on `node`: it has begun, or was asked to a while ago. */
export function goesBefore(other: NodeMaintenance, own: NodeMaintenance, node: string, now: number): boolean {
  const name = stageOf(other) === 'Drain' ? rebootNodeOf(other) : undefined;
  if (name === undefined || name === node) return false;
  if (drainBegan(other, { name }) !== undefined) return true;
  const [asked, ownAsked] = [
    timeOf(other.metadata.creationTimestamp) ?? now,
    timeOf(own.metadata.creationTimestamp) ?? now,
  ];
  const isEarlier = asked < ownAsked || (asked === ownAsked && other.metadata.name < own.metadata.name);
  // One that does not begin in that time goes nowhere.
  return isEarlier && now - asked < REBOOT_TERM_MS;
}

/** Whether the machine of another node reboots and is within its term, by what these maintenances say. */
export function othersReboot(maintenances: readonly NodeMaintenance[], node: string, now: number): boolean {
  return maintenances.some((each) => {
    const name = stageOf(each) === 'Drain' ? rebootNodeOf(each) : undefined;
    if (name === undefined || name === node) return false;
    return now - (drainBegan(each, { name }) ?? -Infinity) < REBOOT_TERM_MS;
  });
}

/** What a reboot that has not had its turn waits for, as who gives the turns has written it; undefined where it does not wait. */
export function turnWaitOf(maintenance: NodeMaintenance | undefined): TurnWait | undefined {
  const drained = maintenance?.status?.conditions?.find(({ type }) => type === DRAINED);
  const { reason, message = '' } = drained ?? {};
  return reason === 'WaitingForTurn' || reason === 'WaitingForControlPlane' ? { reason, message } : undefined;
}

/** What a member of the control plane was told last to wait for, whether its drain has begun or not; undefined where it was not. */
export function toldToGuard(maintenance: NodeMaintenance): string | undefined {
  const wait = turnWaitOf(maintenance);
  return wait?.reason === 'WaitingForControlPlane' ? wait.message : undefined;
}
