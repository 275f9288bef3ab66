/** `nodemaint release NODE`: lets a held machine go through the cluster, where nobody can log in any more. */
import { counted } from '../../decide/counted.ts';
import { AGENT_STATUS_ANNOTATION, RELEASE_ANNOTATION } from '../../api/names.ts';
import type { NodeMaintenance } from '../../api/node-maintenance.ts';
import type { Node } from '../../api/pod.ts';
import { isTerminal } from '../../decide/pod.ts';
import { askedRelease, hasGoneDown, heldShutdowns, releaseText } from '../../decide/shutdown/release.ts';
import { NodemaintError } from '../../errors.ts';
import type { UserAccessFlags } from '../../kube/access/user.ts';
import { printable } from '../../printable.ts';
import { readPresence } from '../../decide/presence/presence.ts';
import { parseTimeout, usage } from '../arguments/parse.ts';
import { type ClusterClients, parseNodes, withCluster } from '../cluster/cluster.ts';
import { ownName } from '../../kube/own-identity.ts';
import { type AwaitedNode, waitForNodes } from '../cluster/wait-for-nodes.ts';
import { isConfirmed } from '../terminal/confirm.ts';
import { EXIT } from '../terminal/exit-code.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** The flags of `nodemaint release NODE`. */
export interface ReleaseNodeFlags extends UserAccessFlags {
  readonly reason: string;
  readonly yes?: boolean;
  readonly timeout: string;
}

/** What the agent of the node says of itself. */
function phaseOf(node: Node | undefined): string | undefined {
  return readPresence(node?.metadata.annotations?.[AGENT_STATUS_ANNOTATION] ?? '')?.phase;
}

/** A machine that is held: its Node, and the maintenances of its shutdown. */
interface HeldMachine {
  readonly node: Node;
  readonly held: readonly [NodeMaintenance, ...NodeMaintenance[]];
}

/** Throws API_REFUSED where no shutdown of the node is held. */
async function findHeld({ maintenances }: ClusterClients, name: string, signal: AbortSignal): Promise<HeldMachine> {
  const [node, all] = await Promise.all([maintenances.findNode(name, signal), maintenances.maintenances(signal)]);
  if (node === undefined) throw new NodemaintError('API_REFUSED', `nodes "${name}" not found`);
  const [first, ...others] = heldShutdowns(all, name);
  if (first !== undefined) return { node, held: [first, ...others] };
  throw new NodemaintError(
    'API_REFUSED',
    `no shutdown of node/${name} is held: its agent has no maintenance in the stage Drain`,
  );
}

/** Asks the person; returns whether to go on. */
async function isWanted(cluster: ClusterClients, node: string, terminal: Terminal): Promise<boolean> {
  const pods = await cluster.maintenances.podsOn(node, terminal.stop);
  const left = pods.filter((pod) => !isTerminal(pod)).length;
  const what = counted(left, 'pod that is still there', 'pods that are still there');
  terminal.write(`This lets the machine of node/${node} go down at once, with ${what}.\n`);
  return await isConfirmed(terminal);
}

/** Writes who lets the machine go, and why, on each maintenance that does not say it already. */
async function ask(
  cluster: ClusterClients,
  { node, held }: HeldMachine,
  reason: string,
  terminal: Terminal,
): Promise<void> {
  const open = held.filter((each) => askedRelease(each, node.metadata.name) === undefined);
  for (const each of held.filter((one) => !open.includes(one))) {
    const text = askedRelease(each, node.metadata.name) ?? '';
    terminal.write(`nodemaintenance/${each.metadata.name} says it already: ${printable(text)}\n`);
  }
  if (open.length === 0) return;
  const text = releaseText(await ownName(cluster.client, terminal.stop), reason);
  for (const each of open)
    await cluster.maintenances.change(each, { annotations: { [RELEASE_ANNOTATION]: text } }, false, terminal.stop);
}

/**
 * `nodemaint release NODE`: writes on the maintenance of the node's shutdown that the machine is to go, and waits until its agent
 * has let it go. Returns the exit code. Throws USAGE, KUBECONFIG_INVALID, API_UNREACHABLE, and API_REFUSED also where no
 * shutdown of the node is held.
 */
export async function releaseNodeCommand(name: string, flags: ReleaseNodeFlags, terminal: Terminal): Promise<number> {
  const [node = ''] = parseNodes([name]);
  const timeoutMs = parseTimeout(flags.timeout);
  if (flags.yes !== true && !terminal.isTerminal) {
    throw usage(
      'release lets a machine go down with pods that still run: write --yes where no person sits at a terminal',
    );
  }
  return await withCluster(flags, 'nodemaint-release', terminal, async (cluster) => {
    const found = await findHeld(cluster, node, terminal.stop);
    if (phaseOf(found.node) === 'released') {
      terminal.write(`node/${node} is released already: its machine goes down\n`);
      return EXIT.done;
    }
    if (flags.yes !== true && !(await isWanted(cluster, node, terminal))) {
      terminal.warn('nodemaint: nothing was done\n');
      return EXIT.failed;
    }
    await ask(cluster, found, flags.reason, terminal);
    const isDone = ({ nodes: [now] }: AwaitedNode): boolean => {
      const phase = phaseOf(now);
      return hasGoneDown(found.node, now) || (phase !== undefined && phase !== 'draining' && phase !== 'waiting');
    };
    const awaited = { maintenance: found.held[0].metadata.name, nodes: [node], isDone, timeoutMs };
    const { ending } = await waitForNodes(awaited, cluster.client, terminal.stop);
    if (ending === 'done') {
      terminal.write(`node/${node} released: its machine goes down\n`);
      return EXIT.done;
    }
    const why =
      ending === 'interrupted'
        ? 'interrupted; the agent lets the machine go as soon as it hears of it'
        : `its agent has not confirmed it in time. It does so as soon as it hears of it; if it does not reach the API server, on the machine: sudo nodemaint release`;
    terminal.warn(`nodemaint: node/${node} release pending: ${why}\n`);
    return ending === 'interrupted' ? EXIT.failed : EXIT.timedOut;
  });
}
