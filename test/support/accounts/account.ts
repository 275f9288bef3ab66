/** What docs/reference/security.md says of the accounts of the product; a test compares it with the manifests. */

/** What restricts a right beside RBAC. */
export type Fence =
  /** Admission policies by their names, and what they leave of the right. */
  | { readonly policies: readonly string[]; readonly leaves: string }
  /** RBAC alone, and why that is bounded. */
  | { readonly alone: string };

/** Verbs on resources, with the one reason for which the product needs them. */
export interface Right {
  /** The API group; '' is the core. */
  readonly group: string;
  readonly resources: readonly string[];
  /** The only objects that it concerns (resourceNames); all without it. */
  readonly names?: readonly string[];
  /** The only namespace that it concerns; all without it. */
  readonly namespace?: string;
  readonly verbs: readonly string[];
  readonly why: string;
  /** The files of the source that use it, or the policies that ask for a verb of ours. */
  readonly usedBy: readonly string[];
  readonly fence: Fence;
}

/** Somebody who has rights by the manifests. */
export interface Account {
  /** The subject as `subjectName` of manifests.ts has it, or `ClusterRole NAME` for a role that the manifests bind to nobody. */
  readonly subject: string;
  readonly title: string;
  /** What it is, in Markdown, above the table. */
  readonly introduction: string;
  readonly rights: readonly Right[];
  /** What a thief of it can still do, in Markdown, below the table; '' where the table says all. */
  readonly thief: string;
}
