/** Where what is said of the accounts and what the manifests give them differ. */
import { type Atom, atomText, type Policy } from './manifests.ts';
import type { Account, Right } from './page.ts';

/** What the manifests give, and what is said of it. */
export interface Facts {
  /** By subject. */
  readonly granted: ReadonlyMap<string, readonly Atom[]>;
  /** By name. */
  readonly policies: ReadonlyMap<string, Policy>;
  readonly accounts: readonly Account[];
}

/** The operations of admission that a verb leads to. Reading, and verbs that only policies ask for, lead to none. */
const OPERATIONS: ReadonlyMap<string, string> = new Map([
  ['create', 'CREATE'],
  ['update', 'UPDATE'],
  ['patch', 'UPDATE'],
  ['delete', 'DELETE'],
  ['deletecollection', 'DELETE'],
]);

function saidAtoms({ rights }: Account): readonly Atom[] {
  return rights.flatMap(({ group, resources, names, namespace, verbs }) =>
    resources.flatMap((resource) =>
      (names ?? [undefined]).flatMap((name) => verbs.map((verb) => ({ group, resource, name, namespace, verb }))),
    ),
  );
}

function repeated(texts: readonly string[]): readonly string[] {
  return texts.filter((text, place) => texts.indexOf(text) !== place);
}

/** Rights that are given and not said, said and not given, or said twice. */
function rightFaults({ granted, accounts }: Facts): readonly string[] {
  const said = new Map(accounts.map((account) => [account.subject, saidAtoms(account).map(atomText)]));
  const given = new Map([...granted].map(([subject, atoms]) => [subject, atoms.map(atomText)]));
  const subjects = new Set([...said.keys(), ...given.keys()]);
  return [...subjects].flatMap((subject) => {
    const [mine = [], theirs = []] = [said.get(subject), given.get(subject)];
    return [
      ...theirs.filter((text) => !mine.includes(text)).map((text) => `${subject}: ${text} is given without a reason`),
      ...mine.filter((text) => !theirs.includes(text)).map((text) => `${subject}: ${text} is said and not given`),
      ...repeated(mine).map((text) => `${subject}: ${text} is said twice`),
      ...repeated(theirs).map((text) => `${subject}: ${text} is given twice`),
    ];
  });
}

function covers({ rules }: Policy, { group }: Right, resource: string, operation: string): boolean {
  return rules.some(
    ({ apiGroups, resources, operations }) =>
      apiGroups.includes(group) && resources.includes(resource) && operations.includes(operation),
  );
}

/** What is wrong with the fence of a right. */
function fenceFaults({ policies }: Facts, { subject }: Account, right: Right): readonly string[] {
  const { resources, verbs, policies: named, fence, why } = right;
  const what = `${subject}: ${verbs.join(', ')} ${resources.join(', ')}`;
  if (fence === '' || why === '') return [`${what}: it is not said why it is needed, or what restricts it`];
  if (named.length === 0) return [];
  const unknown = named.filter((name) => !policies.has(name));
  const found = named.flatMap((name) => policies.get(name) ?? []);
  const foreign = found.filter((policy) => policy.subject !== undefined && policy.subject !== subject);
  const open = resources.flatMap((resource) =>
    verbs.flatMap((verb) => {
      const operation = OPERATIONS.get(verb);
      if (operation === undefined) return [`${what}: no policy sees ${verb}`];
      const isCovered = found.some((policy) => covers(policy, right, resource, operation));
      return isCovered ? [] : [`${what}: none of its policies sees ${operation} of ${resource}`];
    }),
  );
  const idle = found.filter(
    (policy) =>
      !resources.some((resource) => verbs.some((verb) => covers(policy, right, resource, OPERATIONS.get(verb) ?? ''))),
  );
  return [
    ...unknown.map((name) => `${what}: no policy ${name} refuses anything`),
    ...foreign.map(({ name }) => `${what}: ${name} is for another account`),
    ...idle.map(({ name }) => `${what}: ${name} does not see it`),
    ...open,
  ];
}

/** Every difference, as a sentence for the person who has made it. */
export function faultsOf(facts: Facts): readonly string[] {
  const { policies, accounts } = facts;
  const fences = accounts.flatMap((account) => account.rights.flatMap((right) => fenceFaults(facts, account, right)));
  const named = new Set(accounts.flatMap(({ rights }) => rights.flatMap((right) => right.policies)));
  const unnamed = [...policies.keys()].filter((name) => !named.has(name));
  return [
    ...rightFaults(facts),
    ...fences,
    ...unnamed.map((name) => `policy ${name} refuses something, and no right names it`),
  ];
}
