/** A number and the noun that goes with it, with its verb where one follows: "1 pod is", "3 pods are". */
export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
