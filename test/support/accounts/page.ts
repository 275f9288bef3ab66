/** What docs/reference/security.md says of the accounts of the product; a test compares it with the manifests. */
import path from 'node:path';

export const PAGE = path.join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'security.md');

/** What restricts a right beside RBAC: admission policies by their names, or nothing where there is none. */
export interface Right {
  /** As the page has it, such as `leases.coordination.k8s.io: NAME, in NAMESPACE`. */
  readonly text: string;
  /** The API group; '' is the core. */
  readonly group: string;
  readonly resources: readonly string[];
  /** The only objects that it concerns (resourceNames); all without it. */
  readonly names?: readonly string[] | undefined;
  /** The only namespace that it concerns; all without it. */
  readonly namespace?: string | undefined;
  readonly verbs: readonly string[];
  readonly policies: readonly string[];
  /** What the policies leave of it, or why RBAC alone is enough. */
  readonly fence: string;
  /** The reason for which the product needs it. */
  readonly why: string;
}

/** Somebody who has rights by the manifests. */
export interface Account {
  /** As `subjectName` of manifests.ts has it, or `ClusterRole NAME` for a role that the manifests bind to nobody. */
  readonly subject: string;
  readonly rights: readonly Right[];
}

/** The sections of the page, by the subject that each is about. */
const SECTIONS: Readonly<Record<string, string>> = {
  'Agents: the group `system:nodes`': 'system:nodes',
  'Agents that release gated pods: `nodemaint-agent-release`':
    'system:serviceaccount:nodemaint-system:nodemaint-agent-release',
  'The controller: `nodemaint-controller`': 'system:serviceaccount:nodemaint-system:nodemaint-controller',
  'People with `view`, `edit` or `admin`': 'ClusterRole nodemaint-view',
  'People with `edit` or `admin`: EvictionRequests': 'ClusterRole nodemaint-evictionrequests-edit',
  'Interceptors of others: `nodemaint-interceptor`': 'ClusterRole nodemaint-interceptor',
  'People who take nodes out of use: `nodemaint-operator`': 'ClusterRole nodemaint-operator',
  'People who let a held machine go: `nodemaint-releaser`': 'ClusterRole nodemaint-releaser',
};

const RESOURCES = /^([^:`]+?)(?:: ((?:`[^`]+`(?:, )?)+?))?(?:, in `([^`]+)`)?$/;
const FENCE = /^(?:RBAC alone|((?:`[^`]+`(?:, )?)+)): (.+)$/;

function quoted(text = ''): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

/** The right of a row of the table: resource, verbs, why, used by, restricted by. */
function rightOf(row: string): Right {
  const [text = '', verbs = '', why = '', , restricted = ''] = row.slice(2, -2).split(' | ');
  const [, resources = '', names, namespace] = RESOURCES.exec(text) ?? [];
  const [, policies, fence = ''] = FENCE.exec(restricted) ?? [];
  const found = resources.split(', ').map((each) => /^([^./]+)(?:\.([^/]+))?(\/.+)?$/.exec(each) ?? []);
  return {
    text,
    group: found[0]?.[2] ?? '',
    resources: found.map(([, plural = '', , subresource = '']) => `${plural}${subresource}`),
    names: names === undefined ? undefined : quoted(names),
    namespace,
    verbs: verbs.split(', '),
    policies: quoted(policies),
    fence,
    why,
  };
}

/** The accounts that the page describes, in its order. */
export function accountsOn(page: string): readonly Account[] {
  return page.split(/^##+ /m).flatMap((section) => {
    const subject = SECTIONS[section.slice(0, section.indexOf('\n'))];
    if (subject === undefined) return [];
    const rows = section.split('\n').filter((line) => line.startsWith('| '));
    return [{ subject, rights: rows.slice(1).map(rightOf) }];
  });
}
