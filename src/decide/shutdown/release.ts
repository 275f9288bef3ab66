/** How a person lets a held machine go through the cluster: by an annotation on the maintenance of its shutdown. */
import { RELEASE_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { isHealthy } from '../maintenance/control-plane-members.ts';
import { agentNodeOf, stageOf } from '../maintenance/maintenance.ts';

/** The longest text of the annotation that is read, in characters: a name of a user, and a reason. */
const MAX_TEXT = 1_536;

/** The text of the annotation. The policy requires that it begins with the name of the user who writes it. */
export function releaseText(user: string, reason: string): string {
  return `${user}: ${reason}`;
}

/** What somebody has written who lets the machine of the node go: USER: REASON; undefined where nobody has. */
export function askedRelease(maintenance: NodeMaintenance | undefined, node: string): string | undefined {
  if (maintenance === undefined || agentNodeOf(maintenance) !== node) return undefined;
  const text = maintenance.metadata.annotations?.[RELEASE_ANNOTATION]?.trim() ?? '';
  return text === '' ? undefined : text.slice(0, MAX_TEXT);
}

/** The maintenances by which the agent of the node holds its shutdown, as far as the cluster knows. */
export function heldShutdowns(maintenances: readonly NodeMaintenance[], node: string): readonly NodeMaintenance[] {
  return maintenances.filter((each) => agentNodeOf(each) === node && stageOf(each) === 'Drain');
}

/** Whether a machine whose agent held it has gone down since `before`: its kubelet is silent, or it was booted again. */
export function hasGoneDown(before: Node, now: Node | undefined): boolean {
  if (now === undefined) return true;
  const isOtherBoot = now.status?.nodeInfo?.bootID !== before.status?.nodeInfo?.bootID;
  return isOtherBoot || (isHealthy(before) && !isHealthy(now));
}
