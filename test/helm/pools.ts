/** On which nodes the installers of a chart run, by the rules of nodeSelector and required node affinity. */
import type { PrintedObject } from './objects.ts';

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

interface NodeChoice {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: {
        readonly nodeSelectorTerms: readonly { readonly matchExpressions?: readonly Requirement[] }[];
      };
    };
  };
}

type Labels = Readonly<Record<string, string>>;

function holds(labels: Labels, { key, operator, values = [] }: Requirement): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      throw new Error(`no rule for the operator ${operator}`);
  }
}

function chooses({ nodeSelector = {}, affinity }: NodeChoice, labels: Labels): boolean {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return (
    Object.entries(nodeSelector).every(([key, value]) => labels[key] === value) &&
    (terms === undefined ||
      terms.some(({ matchExpressions = [] }) => matchExpressions.every((one) => holds(labels, one))))
  );
}

/** The names of the DaemonSets that have a pod on a node with these labels, if it has no taints. */
export function daemonSetsOn(objects: Iterable<PrintedObject>, labels: Labels): readonly string[] {
  return [...objects]
    .filter(({ kind }) => kind === 'DaemonSet')
    .filter(({ spec }) => chooses((spec as { template: { spec: NodeChoice } }).template.spec, labels))
    .map(({ metadata }) => metadata.name)
    .sort();
}
