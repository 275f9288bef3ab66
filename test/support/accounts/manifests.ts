/** The rights and the policies of the manifests, as docs/reference/security.md has to describe them. */
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';

const MANIFESTS = path.join(import.meta.dirname, '..', '..', '..', 'manifests');
const NODES_CONDITION = "'system:nodes' in request.userInfo.groups";

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface ResourceRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly operations: readonly string[];
}

interface ManifestObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[];
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[];
  readonly spec?: {
    readonly policyName?: string;
    readonly validationActions?: readonly string[];
    readonly matchConstraints?: { readonly resourceRules: readonly ResourceRule[] };
    readonly matchConditions?: readonly { readonly expression: string }[];
  };
}

/** One verb on one resource. */
export interface Atom {
  readonly group: string;
  readonly resource: string;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly verb: string;
}

/** A policy that refuses something. */
export interface Policy {
  readonly name: string;
  /** The subject that it is for alone, by its first condition; undefined where it concerns others, too. */
  readonly subject: string | undefined;
  readonly rules: readonly ResourceRule[];
}

/** All objects of the manifests that are no part of a component of kustomize, which only changes others. */
async function readObjects(): Promise<readonly ManifestObject[]> {
  const files = globSync('{*,policies,policies/*}/*.yaml', { cwd: MANIFESTS }).filter(
    (file) => !/^(?:chart|crds)\/|before-1\.36|kustomization/.test(file),
  );
  const texts = await Promise.all(files.toSorted().map((file) => readFile(path.join(MANIFESTS, file), 'utf8')));
  const objects = texts.flatMap((text) => parseAllDocuments(text).map((each) => each.toJS() as ManifestObject | null));
  return objects.filter((each) => each !== null);
}

/** How a subject of a binding is named here: as RBAC and the policies name it. */
function subjectName({ kind, name, namespace }: { kind: string; name: string; namespace?: string }): string {
  return kind === 'ServiceAccount' ? `system:serviceaccount:${namespace}:${name}` : name;
}

/** The resource as kubectl names it, with its group and subresource. */
export function qualified(resource: string, group: string): string {
  const [plural, ...subresource] = resource.split('/');
  return [group === '' ? plural : `${plural}.${group}`, ...subresource].join('/');
}

/** One text for each right: it tells two rights apart, and a person what it is. */
export function atomText({ group, resource, name, namespace, verb }: Atom): string {
  const where = namespace === undefined ? '' : ` in ${namespace}`;
  return `${verb} ${qualified(resource, group)}${name === undefined ? '' : ` ${name}`}${where}`;
}

/** Every verb of these rules. */
export function atomsOf(rules: readonly Rule[], namespace?: string): readonly Atom[] {
  return rules.flatMap(({ apiGroups, resources, resourceNames, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        (resourceNames ?? [undefined]).flatMap((name) =>
          verbs.map((verb) => ({ group, resource, name, namespace, verb })),
        ),
      ),
    ),
  );
}

/** A role as a binding gives it to a subject, or as no binding does. */
export interface GivenRole {
  readonly role: string;
  /** `ClusterRole NAME` where no binding names it. */
  readonly subject: string;
  readonly atoms: readonly Atom[];
}

/** Every role of the manifests with each of its subjects. */
export async function givenRoles(): Promise<readonly GivenRole[]> {
  const objects = await readObjects();
  const bound = new Set<ManifestObject>();
  const given = objects
    .filter(({ kind }) => kind.endsWith('RoleBinding'))
    .flatMap(({ kind, metadata, roleRef, subjects = [] }): readonly GivenRole[] => {
      const namespace = kind === 'RoleBinding' ? metadata.namespace : undefined;
      const role = objects.find(
        (each) =>
          each.kind === roleRef?.kind &&
          each.metadata.name === roleRef.name &&
          (each.kind === 'ClusterRole' || each.metadata.namespace === namespace),
      );
      if (role === undefined) throw new Error(`${kind} ${metadata.name} names a role that the manifests do not have`);
      bound.add(role);
      const atoms = atomsOf(role.rules ?? [], namespace);
      return subjects.map((subject) => ({ role: role.metadata.name, subject: subjectName(subject), atoms }));
    });
  const unbound = objects.filter((each) => each.kind === 'ClusterRole' && !bound.has(each));
  const others = unbound.map(({ metadata: { name }, rules = [] }) => {
    return { role: name, subject: `ClusterRole ${name}`, atoms: atomsOf(rules) };
  });
  return [...given, ...others];
}

/** The rights of each subject that a binding of the manifests names, and of each ClusterRole that none binds. */
export async function grantedRights(): Promise<ReadonlyMap<string, readonly Atom[]>> {
  const bySubject = Map.groupBy(await givenRoles(), ({ subject }) => subject);
  return new Map([...bySubject].map(([subject, roles]) => [subject, roles.flatMap(({ atoms }) => atoms)]));
}

/** The account, or the group of the nodes, that the conditions of a policy restrict it to. */
function subjectOf(expressions: readonly string[]): string | undefined {
  if (expressions.includes(NODES_CONDITION)) return 'system:nodes';
  const found = expressions.map((each) => /^request\.userInfo\.username == '([^']+)'$/.exec(each)?.[1]);
  return found.find((each) => each !== undefined);
}

/** The policies of the manifests that refuse something. */
export async function denyingPolicies(): Promise<ReadonlyMap<string, Policy>> {
  const objects = await readObjects();
  const denying = objects.filter(
    ({ kind, spec }) =>
      kind === 'ValidatingAdmissionPolicyBinding' && spec?.validationActions?.includes('Deny') === true,
  );
  const names = new Set(denying.map(({ spec }) => spec?.policyName));
  const policies = objects.filter((each) => each.kind === 'ValidatingAdmissionPolicy' && names.has(each.metadata.name));
  return new Map(
    policies.map(({ metadata: { name }, spec }) => {
      const subject = subjectOf((spec?.matchConditions ?? []).map(({ expression }) => expression));
      return [name, { name, subject, rules: spec?.matchConstraints?.resourceRules ?? [] }];
    }),
  );
}

/** The names of all objects of the manifests. */
export async function manifestNames(): Promise<ReadonlySet<string>> {
  return new Set((await readObjects()).map(({ metadata }) => metadata.name));
}
