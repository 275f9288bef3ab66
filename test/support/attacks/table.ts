import { CONSEQUENCES, WITHOUT_CONTROLLER } from './consequences.ts';
import { ATTACKERS, ATTACKS } from './suite.ts';

/** What the tables show of attacks. */
interface Shown {
  readonly attacker: string;
  readonly title: string;
  readonly attacks: readonly { readonly name: string; readonly refusedBy: string }[];
}

const ALL: readonly Shown[] = [...ATTACKS, ...WITHOUT_CONTROLLER, ...CONSEQUENCES];

function row(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** All attacks as docs/reference/security-attacks.md has them: a table for each attacker. */
export function attackTable(): string {
  return `${tablesOf(ATTACKERS, ALL).join('\n\n')}\n`;
}

function tablesOf(attackers: Readonly<Record<string, string>>, families: readonly Shown[]): readonly string[] {
  return Object.entries(attackers).map(([attacker, name]) => {
    const own = families.filter((family) => family.attacker === attacker);
    const rows = own.flatMap(({ title, attacks }) =>
      attacks.map((attack) => row(title, attack.name, attack.refusedBy)),
    );
    return [`## ${name}`, '', row('what', 'attack', 'refused by'), '|---|---|---|', ...rows].join('\n');
  });
}

/** How many attacks there are. */
export function attackCount(): number {
  return ALL.reduce((sum, { attacks }) => sum + attacks.length, 0);
}

const INTRODUCTION = [
  '# Attacks that the tests try',
  '`test/integration/security/attacks.test.ts` tries these attacks on a real API server, with a real controller and a real agent. It checks that each is refused by what the table names. Each kind of attack has a control: the same call by a user who has the right to it succeeds. Attacks with a token of the product ("a thief of the token") are those of somebody who controls the node of its pod; `test/integration/controller/rights.test.ts` tries some fifty more with the token of the controller. `node test/support/attacks/write-page.ts` writes this page.',
  'n1 and n2 are nodes. "refused by" names the authorizer, the admission plugin, the policy in `manifests/`, the schema of the CRD, or the part of the product that makes the attack have no consequence.',
  '## What is not refused',
  [
    '- Every node reads all NodeMaintenances and all EvictionRequests, and with them the names and UIDs of pods that leave other nodes. RBAC cannot restrict a list to a label. The Node authorizer lets a node list only its own pods, but does not know the kinds of CRDs. An authorization webhook could restrict it, but every shutdown would then need that webhook.',
    '- As the account nodemaint-agent-release every node lists the DaemonSets of the cluster. It also releases DaemonSet pods that are gated for other nodes, unless a maintenance drains the DaemonSet pods of that node: an impersonated account does not tell who acts as it. Agents request only the names of DaemonSets; a stolen identity can read them whole. So put no secret into the template of a DaemonSet, as of any pod. A gated pod does not run, and its DaemonSet creates it again, with the gate if a maintenance still requires it.',
    '- In a maintenance of several nodes, a node that keeps one of its pods delays all of them: the nodes move on together, as KEP-4212 has it. If you do not trust your nodes, make one maintenance for each node.',
    '- Nodes create and change Events of any object, as in every Kubernetes cluster: an Event can be false. Nodes cannot read or write the log of the controller.',
    '- The author of a pod decides who intercepts its eviction (up to 14 interceptors, each with 20 minutes without a heartbeat) and how long the pod may take to end. A deadline of the maintenance shortens both.',
    '- Names of interceptors outside of k8s.io and kubernetes.io belong to no identity: a user who may write the status of EvictionRequests (ClusterRole nodemaint-interceptor) can report for another such interceptor while it is active.',
    '- A user with the ClusterRole edit in a namespace may remove the gate of a gated DaemonSet pod there, as of any pod. The controller removes pods that start on a node that is drained.',
  ].join('\n'),
].join('\n\n');

/** The page of the documentation. */
export function attackPage(): string {
  return `${INTRODUCTION}\n\n${attackTable()}`;
}
