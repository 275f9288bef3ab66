import type { NodeSelector } from '../../api/meta.ts';
import { FORCE_ANNOTATION, NODE_MAINTENANCE_API_VERSION } from '../../api/names.ts';
import type { DrainPlanEntry, KeptPods, NodeMaintenance } from '../../api/node-maintenance.ts';
import { type Consent, keepPodsOf } from '../kept-pods/consent.ts';
import { describeEntry, effectiveDrainPlan, selectorKey } from './drain-plan.ts';
import { agentNodeOf, STAGES, stageOf } from './maintenance.ts';
import { COMMAND_PREFIX, isAgentsName } from './agent-names.ts';

/** The length of a name that people still want to type, in characters. */
const NAME_LENGTH = 63;
const MAX_NAMES = 1000;
const FORCED = { [FORCE_ANNOTATION]: 'true' };

/** What a person wants of some nodes. */
export interface MaintenanceIntent {
  /** Sorted, each once. */
  readonly nodes: readonly string[];
  readonly stage: 'Cordon' | 'Drain';
  readonly name?: string;
  readonly reason?: string;
  readonly plan?: readonly DrainPlanEntry[];
  /** What a person says about the pods of a drain; absent in the stage Cordon. */
  readonly consent?: Consent;
  /** Drains even what the control plane cannot do without. */
  readonly force?: boolean;
}

/** What is changed of a maintenance that is there. */
export interface MaintenanceChange {
  readonly spec?: Partial<NodeMaintenance['spec']>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** How the wanted maintenance is achieved. */
type MaintenanceStep =
  | { readonly kind: 'create'; readonly maintenance: NodeMaintenance }
  /** A maintenance over these very nodes is moved on, or only given another reason. */
  | { readonly kind: 'change'; readonly known: NodeMaintenance; readonly change: MaintenanceChange }
  | { readonly kind: 'already'; readonly known: NodeMaintenance }
  | { readonly kind: 'refused'; readonly message: string };

/** Selects nodes by their names (KEP-4212, NodeMaintenanceSpec). */
export function selectorOfNodes(names: readonly string[]): NodeSelector {
  return { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: names }] }] };
}

/** The nodes that a selector names, sorted; undefined where it selects in any other way than by name. */
function nodesNamedBy(selector: NodeSelector): readonly string[] | undefined {
  const names = new Set<string>();
  for (const { matchExpressions = [], matchFields = [] } of selector.nodeSelectorTerms) {
    const [field] = matchFields;
    if (matchExpressions.length > 0 || matchFields.length !== 1 || field?.key !== 'metadata.name') return undefined;
    if (field.operator !== 'In') return undefined;
    for (const name of field.values ?? []) names.add(name);
  }
  return [...names].toSorted();
}

/** The name of a new maintenance: the same for the same nodes, so that two who ask at once find each other's. */
export function maintenanceNames(nodes: readonly string[]): readonly string[] {
  const all = `${COMMAND_PREFIX}${nodes.join('-')}`;
  const more = `-and-${nodes.length - 1}-more`;
  const short = nodes.length === 1 ? all : `${COMMAND_PREFIX}${(nodes[0] ?? '').slice(0, NAME_LENGTH)}${more}`;
  const base = all.length <= NAME_LENGTH ? all : short.slice(0, 240);
  return Array.from({ length: MAX_NAMES }, (_, index) => (index === 0 ? base : `${base}-${index + 1}`));
}

function planKey({ podType, podPriority, podSelector }: DrainPlanEntry): string {
  return `${podType} ${podPriority} ${selectorKey(podSelector)}`;
}

function isSamePlan(a: readonly DrainPlanEntry[], b: readonly DrainPlanEntry[]): boolean {
  const keys = new Set(a.map(planKey));
  // The server may have injected entries; those that were asked for must be there.
  return b.every((entry) => keys.has(planKey(entry)));
}

/** Whether a maintenance keeps the pods that are wanted; the order says nothing. */
function keepsThese({ spec: { keepPods = [] } }: NodeMaintenance, wanted: readonly KeptPods[]): boolean {
  return keepPods.length === wanted.length && wanted.every((kind) => keepPods.includes(kind));
}

/** Whether a drain that has begun takes what is to stay, or keeps what is to leave. */
function contradicts({ spec: { keepPods = [] } }: NodeMaintenance, { keep, lose }: Consent): boolean {
  return keep.some((kind) => !keepPods.includes(kind)) || lose.some((kind) => keepPods.includes(kind));
}

/** Why a maintenance that is there is no answer to what is wanted, in a sentence; undefined where it is one. */
function whyOther(known: NodeMaintenance, { plan, consent }: MaintenanceIntent): string | undefined {
  const { drainPlan = [], keepPods = [] } = known.spec;
  const is = `nodemaintenance/${known.metadata.name}`;
  const fix = `which cannot be changed; complete it first, with "nodemaint complete nm/${known.metadata.name}", or give another --name`;
  if (plan !== undefined && !isSamePlan(drainPlan, plan)) return `${is} has another drainPlan, ${fix}`;
  if (consent === undefined || !hasBegun(known) || !contradicts(known, consent)) return undefined;
  return `${is} drains already and keeps other pods (keepPods: ${keepPods.join(', ') || 'none'}), ${fix}`;
}

function hasBegun(known: NodeMaintenance): boolean {
  return STAGES.indexOf(stageOf(known)) >= STAGES.indexOf('Drain');
}

/** The pods to keep, where they have to be written and still can be. */
function keptChange(known: NodeMaintenance, consent: Consent | undefined): Partial<NodeMaintenance['spec']> {
  if (consent === undefined || hasBegun(known)) return {};
  const keepPods = keepPodsOf(consent);
  return keepsThese(known, keepPods) ? {} : { keepPods };
}

/** Moves a maintenance that is there on to what is wanted. */
function moveOn(known: NodeMaintenance, intent: MaintenanceIntent): MaintenanceStep {
  const message = whyOther(known, intent);
  if (message !== undefined) return { kind: 'refused', message };
  const stage = STAGES.indexOf(intent.stage) > STAGES.indexOf(stageOf(known)) ? { stage: intent.stage } : {};
  const reason = intent.reason === undefined || intent.reason === known.spec.reason ? {} : { reason: intent.reason };
  const spec = { ...stage, ...reason, ...keptChange(known, intent.consent) };
  const isForced = known.metadata.annotations?.[FORCE_ANNOTATION] === 'true';
  const change = {
    ...(Object.keys(spec).length === 0 ? {} : { spec }),
    ...(intent.force === true && !isForced ? { annotations: FORCED } : {}),
  };
  return Object.keys(change).length === 0 ? { kind: 'already', known } : { kind: 'change', known, change };
}

/**
 * How an intent is carried out beside the maintenances that are there (KEP-4212, NodeMaintenanceSpec.Stage): one that a person
 * has over the very same nodes is moved on, else a new one is made. A node's own agent keeps its maintenance for itself.
 */
export function decideMaintenanceStep(
  intent: MaintenanceIntent,
  maintenances: readonly NodeMaintenance[],
): MaintenanceStep {
  const { nodes, name } = intent;
  const isSame = (known: NodeMaintenance): boolean => nodesNamedBy(known.spec.nodeSelector)?.join() === nodes.join();
  const isOpen = (known: NodeMaintenance): boolean =>
    stageOf(known) !== 'Complete' && known.metadata.deletionTimestamp === undefined;
  if (name !== undefined) {
    const known = maintenances.find(({ metadata }) => metadata.name === name);
    if (known !== undefined) {
      const is = `nodemaintenance/${name}`;
      if (!isSame(known)) return { kind: 'refused', message: `${is} already exists and selects other nodes` };
      if (agentNodeOf(known) !== undefined) return { kind: 'refused', message: `${is} belongs to the node's agent` };
      if (!isOpen(known)) {
        const message = `${is} already exists and is complete; delete it with "nodemaint complete nm/${name} --delete", or give another --name`;
        return { kind: 'refused', message };
      }
      return moveOn(known, intent);
    }
  } else {
    const known = maintenances.find((each) => isSame(each) && isOpen(each) && agentNodeOf(each) === undefined);
    if (known !== undefined) return moveOn(known, intent);
  }
  if (name !== undefined && isAgentsName(name)) {
    const message = `nodemaintenance/${name} cannot be created: names that begin with shutdown- or notice- belong to the agents of the nodes; give another --name`;
    return { kind: 'refused', message };
  }
  const taken = new Set(maintenances.map(({ metadata }) => metadata.name));
  const free = name ?? maintenanceNames(nodes).find((each) => !taken.has(each));
  if (free === undefined) return { kind: 'refused', message: 'no name is free; delete completed maintenances' };
  const keepPods = intent.consent === undefined ? [] : keepPodsOf(intent.consent);
  const maintenance: NodeMaintenance = {
    apiVersion: NODE_MAINTENANCE_API_VERSION,
    kind: 'NodeMaintenance',
    metadata: { name: free, ...(intent.force === true ? { annotations: FORCED } : {}) },
    spec: {
      stage: intent.stage,
      nodeSelector: selectorOfNodes(nodes),
      // The whole plan: the server has nothing to inject then, which it cannot do in its first seconds.
      drainPlan: effectiveDrainPlan(intent.plan ?? []),
      ...(intent.reason === undefined ? {} : { reason: intent.reason }),
      ...(keepPods.length === 0 ? {} : { keepPods }),
    },
  };
  return { kind: 'create', maintenance };
}

/** What is wrong with the order of a drain plan (KEP-4212, DrainPlan); undefined where nothing is. */
export function planComplaint(plan: readonly DrainPlanEntry[], inOrder: readonly DrainPlanEntry[]): string | undefined {
  const keys = plan.map(planKey);
  const twice = keys.findIndex((each, index) => keys.indexOf(each) !== index);
  if (twice >= 0) return `entry ${twice + 1} is there twice: ${describeEntry(plan[twice] as DrainPlanEntry)}`;
  const places = plan.map((entry) => inOrder.findIndex((each) => planKey(each) === planKey(entry)));
  const wrong = places.findIndex((place, index) => index > 0 && place < (places[index - 1] ?? 0));
  if (wrong < 0) return undefined;
  const [entry, before] = [plan[wrong], plan[wrong - 1]] as [DrainPlanEntry, DrainPlanEntry];
  const order = 'Default, DaemonSet, Static; rising priority; those with a selector first';
  return `entry ${wrong + 1} (${describeEntry(entry)}) must come before entry ${wrong} (${describeEntry(before)}): the order is ${order}`;
}
