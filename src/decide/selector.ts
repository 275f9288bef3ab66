import type { LabelSelector, NodeSelector, SelectorRequirement } from '../api/meta.ts';

type Labels = Readonly<Record<string, string>>;

/** The value of a label; undefined where there is none, whatever the key is called. */
function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** A 64-bit integer as Kubernetes reads one (Go's strconv.ParseInt); undefined for any other text. */
function integerOf(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?\d{1,40}$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** Compares the label with the one value of a requirement; false unless both are integers. */
function compares(
  value: string | undefined,
  values: readonly string[],
  holds: (a: bigint, b: bigint) => boolean,
): boolean {
  const [label, bound] = [integerOf(value), integerOf(values[0])];
  return label !== undefined && bound !== undefined && values.length === 1 && holds(label, bound);
}

/** Lists that are at least so long are looked up in a set, which is made once for each list. */
const LONG = 32;
const longLists = new WeakMap<readonly string[], ReadonlySet<string>>();

function includes(values: readonly string[], value: string): boolean {
  if (values.length < LONG) return values.includes(value);
  const known = longLists.get(values) ?? new Set(values);
  longLists.set(values, known);
  return known.has(value);
}

function requirementHolds({ key, operator, values = [] }: SelectorRequirement, labels: Labels): boolean {
  const value = labelOf(labels, key);
  switch (operator) {
    case 'In':
      return value !== undefined && includes(values, value);
    case 'NotIn':
      return value === undefined || !includes(values, value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return compares(value, values, (label, bound) => label > bound);
    case 'Lt':
      return compares(value, values, (label, bound) => label < bound);
    default:
      return false; // An unknown operator of a newer API selects nothing, so that no wrong node is drained.
  }
}

/** Whether a metav1.LabelSelector selects these labels; an empty selector selects everything. */
export function labelSelectorMatches(selector: LabelSelector, labels: Labels): boolean {
  const equal = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labelOf(labels, key) === value);
  return equal && (selector.matchExpressions ?? []).every((requirement) => requirementHolds(requirement, labels));
}

/**
 * The names of the nodes that a v1.NodeSelector names, where it can select no others; it may select fewer. Undefined if it may
 * select others.
 */
export function namedNodesOf({ nodeSelectorTerms }: NodeSelector): readonly string[] | undefined {
  const named = nodeSelectorTerms.map(
    (term) => term.matchFields?.find(({ key, operator }) => key === 'metadata.name' && operator === 'In')?.values,
  );
  return named.includes(undefined) ? undefined : named.flatMap((values) => values ?? []);
}

/** Whether a v1.NodeSelector selects a node: any term holds, and in it every requirement; an empty term selects nothing. */
export function nodeSelectorMatches(
  selector: NodeSelector,
  node: { readonly name: string; readonly labels: Labels },
): boolean {
  return selector.nodeSelectorTerms.some((term) => {
    const expressions = term.matchExpressions ?? [];
    const fields = term.matchFields ?? [];
    if (expressions.length + fields.length === 0) return false;
    return (
      expressions.every((requirement) => requirementHolds(requirement, node.labels)) &&
      fields.every((requirement) => requirementHolds(requirement, { 'metadata.name': node.name }))
    );
  });
}
