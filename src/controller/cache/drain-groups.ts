import type { MaintenanceNodes } from './maintenance-nodes.ts';

/** Drains that share nodes with each other, directly or through others of them: what one of them does may concern all. */
export interface DrainGroup {
  /** Their names. */
  readonly members: ReadonlySet<string>;
  /** Grows with each change by which what they do may change. */
  readonly revision: number;
}

/** The groups of all drains; a group that has to be found again is found when it is asked for. */
export class DrainGroups {
  readonly #maintenanceNodes: Pick<MaintenanceNodes, 'nodesOf' | 'by'>;
  readonly #drains: ReadonlySet<string>;
  readonly #groups = new Map<string, DrainGroup & { revision: number }>();

  /** `drains` are the names of all maintenances in the stage Drain, at any time. */
  constructor(maintenanceNodes: Pick<MaintenanceNodes, 'nodesOf' | 'by'>, drains: ReadonlySet<string>) {
    this.#maintenanceNodes = maintenanceNodes;
    this.#drains = drains;
  }

  /** The group of a drain; one of its own for a name that is none. */
  of(name: string): DrainGroup {
    const known = this.#groups.get(name);
    if (known !== undefined) return known;
    const members = new Set([name]);
    const group = { members, revision: 0 };
    if (!this.#drains.has(name)) return group;
    const nodes = new Set<string>();
    // A set that grows while it is walked through.
    for (const member of members) {
      for (const node of this.#maintenanceNodes.nodesOf(member)) {
        if (nodes.has(node)) continue;
        nodes.add(node);
        for (const other of this.#maintenanceNodes.by(node)) if (this.#drains.has(other)) members.add(other);
      }
    }
    for (const member of members) this.#groups.set(member, group);
    return group;
  }

  /** Notes that the maintenance drains other nodes than before, or drains no longer, or drains now. */
  regroup(name: string): void {
    const others = this.#maintenanceNodes.nodesOf(name).flatMap((node) => [...this.#maintenanceNodes.by(node)]);
    for (const each of [name, ...others])
      for (const member of this.#groups.get(each)?.members ?? []) this.#groups.delete(member);
  }

  /** Notes a change of a maintenance that leaves its nodes as they were. */
  touch(name: string): void {
    const group = this.#groups.get(name);
    if (group !== undefined) group.revision += 1;
  }

  /** Notes a change on a node. */
  touchNode(node: string): void {
    for (const name of this.#maintenanceNodes.by(node)) this.touch(name);
  }
}
