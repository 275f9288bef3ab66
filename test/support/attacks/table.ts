import { CONSEQUENCES, WITHOUT_CONTROLLER } from './consequences.ts';
import { ATTACKERS, ATTACKS } from './suite.ts';

const ALL = [...ATTACKS, ...WITHOUT_CONTROLLER, ...CONSEQUENCES];

function row(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** All attacks as docs/reference/security-attacks.md has them: a table for each attacker. */
export function attackTable(): string {
  const parts = Object.entries(ATTACKERS).map(([attacker, name]) => {
    const own = ALL.filter((family) => family.attacker === attacker);
    const rows = own.flatMap(({ title, attacks }) =>
      attacks.map((attack) => row(title, attack.name, attack.refusedBy)),
    );
    return [`## ${name}`, '', row('what', 'attack', 'refused by'), '|---|---|---|', ...rows].join('\n');
  });
  return `${parts.join('\n\n')}\n`;
}

/** How many attacks there are. */
export function attackCount(): number {
  return ALL.reduce((sum, { attacks }) => sum + attacks.length, 0);
}

const INTRODUCTION = [
  '# Attacks that are tried',
  '`test/integration/security/attacks.test.ts` tries these on a real API server, with a real controller and a real agent, and checks that each is refused by what is named here. Each kind of attack has a control beside it: the same call by somebody who has the right to it is carried out. This page is written by `node test/support/attacks/write-page.ts`.',
  'n1 and n2 are nodes. "refused by" names the authorizer, the admission plugin, the policy in `manifests/policies/`, the schema of the CRD, or the part of the product that sees to it that an attack has no consequence.',
  '## What is not refused',
  [
    '- Every node reads all NodeMaintenances and all EvictionRequests, and so the names and UIDs of pods that are to leave other nodes. RBAC cannot restrict a list to a label, and the Node authorizer, which lets a node list its own pods only, does not know the kinds of CRDs. An authorization webhook could restrict it, and would be one more part without which no node goes down in order.',
    '- As the account nodemaint-agent-release every node lists the DaemonSets of the cluster, and lets go of DaemonSet pods that are held for other nodes, unless a maintenance drains the DaemonSet pods of that node: an impersonated account does not tell who acts as it. Agents ask for the names of DaemonSets alone, and a stolen identity can read them whole: put no secret into the template of a DaemonSet, as of any pod. A held pod does not run, and its DaemonSet makes it anew, with the gate where a maintenance still wants it.',
    '- A node that keeps a pod of its own in a maintenance of several nodes holds all of them back: they move on together, as KEP-4212 has it. Make a maintenance for each node where nodes are not trusted.',
    '- Nodes make and change Events of any object, as every Kubernetes lets them: an Event may be false. They cannot read or write the log of the controller.',
    '- Whoever may write a pod decides who intercepts its eviction (up to 14 interceptors, each with 20 minutes without a sign of life) and how long the pod may take to end. A deadline of the maintenance shortens both.',
    '- Names of interceptors outside of k8s.io and kubernetes.io belong to no identity: whoever may write the status of EvictionRequests (ClusterRole nodemaint-interceptor) can report for another such interceptor while it is active.',
    '- Whoever has the ClusterRole edit in a namespace may take the gate of a held DaemonSet pod there away, as of any pod. The controller removes what starts on a node that is drained.',
  ].join('\n'),
].join('\n\n');

/** The page of the documentation. */
export function attackPage(): string {
  return `${INTRODUCTION}\n\n${attackTable()}`;
}
