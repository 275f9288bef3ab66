/** An arrow of a graph, from one name to another. */
export type Arrow = readonly [from: string, to: string];

/** The circles of a graph: groups of two or more names from each of which all others can be reached (Tarjan). */
export function circlesOf(arrows: readonly Arrow[]): readonly (readonly string[])[] {
  const targets = Map.groupBy(arrows, ([from]) => from);
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (name: string): number => {
    const index = order.size;
    order.set(name, index);
    lowest.set(name, index);
    stack.push(name);
    for (const [, to] of targets.get(name) ?? []) {
      if (!order.has(to)) lower(name, visit(to));
      else if (stack.includes(to)) lower(name, order.get(to) ?? index);
    }
    const low = lowest.get(name) ?? index;
    if (low === index) {
      const group = stack.splice(stack.indexOf(name));
      if (group.length > 1) circles.push(group.toSorted());
    }
    return low;
  };
  const lower = (name: string, value: number): void => {
    lowest.set(name, Math.min(lowest.get(name) ?? value, value));
  };
  for (const name of targets.keys()) if (!order.has(name)) visit(name);
  return circles;
}
