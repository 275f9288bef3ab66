/**
 * The maintenances that a node's agent makes. Their names are few, so that a stolen identity cannot make many, and only the
 * node's own, which the policy nodemaint-node-maintenances sees to.
 */
import { printable, shortened } from '../../printable.ts';

/** A name has at most 253 characters. */
const MAX_BASE = 242;
const DIGITS_AND_LETTERS = 36;

/** A longer reason has no room in an Event and in the NodeMaintenance that a node may create; the rest is cut off. */
const MAX_REASON = 1_024;

/** A reason from outside, such as a wall message or the text of a notice, as the maintenance of a node may have it. */
export function maintenanceReason(text: string): string {
  return shortened(printable(text), MAX_REASON);
}

/** What stands for the node in a name: it leaves room for the rest. The policy computes the same. */
function baseOf(nodeName: string): string {
  return nodeName.length <= MAX_BASE ? nodeName : `${nodeName.slice(0, MAX_BASE - 1)}x`;
}

/** The 36 names that the maintenance of a shutdown may have. */
export function shutdownNames(nodeName: string): readonly string[] {
  return Array.from({ length: DIGITS_AND_LETTERS }, (_, at) => `shutdown-${baseOf(nodeName)}-${at.toString(36)}`);
}

/** Whether the agent of this node, and nobody else, may give the name. */
export function isNameOfAgent(name: string, nodeName: string): boolean {
  const start = name.slice(0, -'-0'.length);
  if (start === `shutdown-${baseOf(nodeName)}`) return /-[0-9a-z]$/.test(name);
  return start === `notice-${baseOf(nodeName)}` && /-[0-9]$/.test(name);
}

/** Whether a name is one that agents may give, so that nobody else may. The policy for people has the same rule. */
export function isAgentsName(name: string): boolean {
  return name.startsWith('shutdown-') || name.startsWith('notice-');
}

/** With this begin the names that the command gives to maintenances. */
export const COMMAND_PREFIX = 'maintenance-';

/** What became of the NodeMaintenance that the agent wants for a shutdown. */
export type OwnState =
  /** The API server has not accepted it, as far as is known. */
  | 'absent'
  | 'open'
  /** The name is somebody else's. */
  | 'taken'
  /** It was there, and somebody has deleted it. */
  | 'deleted'
  /** It was there, and somebody has completed it: a person, or a thief of the controller's token. */
  | 'completed';
