import type { Footprints } from './footprints.ts';

/** Drains that share nodes with each other, directly or through others of them: what one of them does may concern all. */
export interface DrainGroup {
  /** Their names. */
  readonly members: ReadonlySet<string>;
  /** Grows with each change by which what they do may change. */
  readonly revision: number;
}

/** The groups of all drains; a group that has to be found again is found when it is asked for. */
export interface DrainGroups {
  /** The group of a drain; one of its own for a name that is none. */
  of(name: string): DrainGroup;
  /** Notes that the maintenance drains other nodes than before, or drains no longer, or drains now. */
  regroup(name: string): void;
  /** Notes a change of a maintenance that leaves its nodes as they were. */
  touch(name: string): void;
  /** Notes a change on a node. */
  touchNode(node: string): void;
}

interface Group extends DrainGroup {
  revision: number;
}

export function createDrainGroups(
  { nodesOf, by }: Pick<Footprints, 'nodesOf' | 'by'>,
  isDrain: (name: string) => boolean,
): DrainGroups {
  const groups = new Map<string, Group>();
  const dissolve = (name: string): void => {
    for (const member of groups.get(name)?.members ?? []) groups.delete(member);
  };
  const find = (name: string): Group => {
    const members = new Set([name]);
    const group = { members, revision: 0 };
    if (!isDrain(name)) return group;
    const nodes = new Set<string>();
    // A set that grows while it is walked through.
    for (const member of members) {
      for (const node of nodesOf(member)) {
        if (nodes.has(node)) continue;
        nodes.add(node);
        for (const other of by(node)) if (isDrain(other)) members.add(other);
      }
    }
    for (const member of members) groups.set(member, group);
    return group;
  };
  const touch = (name: string): void => {
    const group = groups.get(name);
    if (group !== undefined) group.revision += 1;
  };
  return {
    of: (name) => groups.get(name) ?? find(name),
    regroup: (name) => {
      dissolve(name);
      for (const node of nodesOf(name)) for (const other of by(node)) dissolve(other);
    },
    touch,
    touchNode: (node) => {
      for (const name of by(node)) touch(name);
    },
  };
}
