/**
 * A node whose own agent drains it goes down, whatever happens elsewhere. Its pods, their grace periods and the plans of all of
 * its drains decide how; what drains do on other nodes does not.
 */
import type { Drain, DrainNode } from './overlapping-drains.ts';

/** The nodes of these drains that go down: those that a drain of their own agent has. */
export function nodesGoingDown(drains: readonly Pick<Drain, 'agentNode'>[]): ReadonlySet<string> {
  return new Set(drains.flatMap(({ agentNode }) => (agentNode === undefined ? [] : [agentNode])));
}

/**
 * A drain as it moves on: its nodes that stay together, and each of those that go down by itself. A node that goes down waits
 * for none of the others, and they do not wait for it.
 */
export function separateDrains(drain: Drain, goingDown: ReadonlySet<string>): readonly Drain[] {
  const isAlone = ({ name }: DrainNode): boolean => goingDown.has(name);
  if (!drain.nodes.some(isAlone)) return [drain];
  const together = drain.nodes.filter((node) => !isAlone(node));
  const alone = drain.nodes.filter(isAlone).map((node): Drain => ({ ...drain, nodes: [node] }));
  return together.length === 0 ? alone : [{ ...drain, nodes: together }, ...alone];
}
