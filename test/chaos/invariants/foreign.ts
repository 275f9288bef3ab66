import { isDeepStrictEqual } from 'node:util';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { KubeObject } from '../../../src/api/meta.ts';
import {
  COMPLETION_FINALIZER,
  CORDONED_ANNOTATION,
  EVICT_WANTED_ANNOTATION,
  MAINTENANCE_GATE,
  MAINTENANCE_REQUESTER,
} from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, NodeCondition, Pod } from '../../../src/api/pod.ts';
import type { Write } from '../audit.ts';
import type { Change, Kind } from '../timeline.ts';
import { replay, type Scene } from './replay.ts';
import type { Violation } from './violation.ts';

/** The condition types of nodes that the product may write. */
export const OUR_CONDITIONS: readonly string[] = [
  'MaintenancePlanned',
  'MaintenanceInProgress',
  'DrainInProgress',
  'Drained',
];
const UNKNOWN = 'unknown';
/** The controller acts on what it has seen last: so much later it has seen it. */
const LAG_MS = 2_500;
const OUR_PREFIX = 'nodemaintenance.x-k8s.io/';

type Texts = Readonly<Record<string, string>> | undefined;

function foreignTexts(texts: Texts): object {
  const entries = Object.entries(texts ?? {}).filter(
    ([key]) => !key.startsWith(OUR_PREFIX) && key !== EVICT_WANTED_ANNOTATION,
  );
  return Object.fromEntries(entries);
}

function foreignMeta({ metadata }: KubeObject): object {
  const finalizers = (metadata.finalizers ?? []).filter((each) => each !== COMPLETION_FINALIZER);
  return { labels: foreignTexts(metadata.labels), annotations: foreignTexts(metadata.annotations), finalizers };
}

interface FullNode extends Node {
  readonly spec?: { readonly unschedulable?: boolean; readonly taints?: readonly { readonly key: string }[] };
}

/** The parts of an object that are not the product's. */
const FOREIGN_PARTS: Readonly<Record<Kind, (object: KubeObject) => object>> = {
  Node: (object) => {
    const { spec, status } = object as FullNode;
    const { unschedulable: _, taints = [], ...rest } = spec ?? {};
    const conditions = (status?.conditions ?? []).filter(({ type }) => !OUR_CONDITIONS.includes(type));
    const foreignTaints = taints.filter(({ key }) => key !== 'node.kubernetes.io/unschedulable');
    return { ...foreignMeta(object), spec: rest, taints: foreignTaints, status: { ...status, conditions } };
  },
  NodeMaintenance: (object) => {
    const { stage: _, ...spec } = (object as NodeMaintenance).spec;
    return { ...foreignMeta(object), spec };
  },
  EvictionRequest: (object) => {
    const { spec } = object as EvictionRequest;
    const requesters = (spec.requesters ?? []).filter(({ name }) => name !== MAINTENANCE_REQUESTER);
    // Labels follow those of the pod; the rest of the status is the controller's.
    return { finalizers: object.metadata.finalizers ?? [], target: spec.target, requesters };
  },
  Pod: (object) => {
    const { schedulingGates = [], ...spec } = (object as Pod).spec;
    const gates = schedulingGates.filter(({ name }) => name !== MAINTENANCE_GATE);
    return { ...foreignMeta(object), spec: { ...spec, gates } };
  },
  PodDisruptionBudget: (object) => ({ ...foreignMeta(object), spec: (object as { spec?: object }).spec }),
};

function difference(kind: Kind, before: KubeObject, after: KubeObject): string | undefined {
  const [old, fresh] = [FOREIGN_PARTS[kind](before), FOREIGN_PARTS[kind](after)];
  const keys = new Set([...Object.keys(old), ...Object.keys(fresh)]);
  return [...keys].find((key) => !isDeepStrictEqual(Reflect.get(old, key), Reflect.get(fresh, key)));
}

/**
 * The object before the change, with what another program's binding has written. A binding is answered without a revision, so
 * that the audit log names as its author a later write of the same pod that changed nothing.
 */
function boundBefore(
  before: KubeObject,
  { kind, key, object }: Change,
  boundByOthers: ReadonlySet<string>,
): KubeObject {
  if (kind !== 'Pod' || !boundByOthers.has(key)) return before;
  const [old, fresh] = [before as Pod, object as Pod];
  const { nodeName } = fresh.spec;
  if (old.spec.nodeName !== undefined || nodeName === undefined) return before;
  return { ...old, spec: { ...old.spec, nodeName } } as Pod;
}

function conditionOf(node: Node | undefined, type: string): NodeCondition | undefined {
  return node?.status?.conditions?.find((each) => each.type === type);
}

/** Checks that the users of the product changed nothing that is not the product's. */
export function checkForeign(
  changes: readonly Change[],
  writes: readonly Write[],
  users: readonly string[],
): Violation[] {
  const found: Violation[] = [];
  const authors = new Map<number, string>();
  /** The revisions that the product was answered; of a write that changed nothing it is another one's. */
  const answered = new Map<number, string>();
  for (const { revision, user } of writes) {
    if (revision === undefined) continue;
    if (!authors.has(revision)) authors.set(revision, user);
    if (users.includes(user)) answered.set(revision, user);
  }
  const bindings = writes.filter(({ resource, user }) => resource === 'pods/binding' && !users.includes(user));
  const boundByOthers = new Set(bindings.map(({ key }) => key));
  /** An author that the audit log does not name may be the product. */
  const ours = [...users, UNKNOWN];
  /** When a node was last seen with the mark of our cordon. */
  const markedAt = new Map<string, number>();
  /** Who wrote a node's cordon or one of its conditions last, by the node and the name of the part. */
  const partAuthors = new Map<string, string>();
  const add = ({ change }: Scene, what: string, more = ''): void => {
    found.push({
      invariant: 'foreign',
      what,
      detail: `${change.kind} ${change.key} at revision ${change.revision} ${more}`,
    });
  };

  const checkNode = (scene: Scene, author: string): void => {
    const { change, before } = scene;
    const old: Node | undefined = before;
    const fresh: Node = change.object;
    const wasCordoned = old?.spec?.unschedulable === true;
    const owner = answered.get(change.revision) ?? author;
    const cordon = `${change.key} cordon`;
    if (old?.metadata.annotations?.[CORDONED_ANNOTATION] !== undefined) markedAt.set(change.key, change.at);
    if (wasCordoned !== (fresh.spec?.unschedulable === true)) {
      // A mark that somebody took away just now may be in the controller's copy still.
      const isMarkGone =
        old?.metadata.annotations?.[CORDONED_ANNOTATION] === undefined &&
        change.at - (markedAt.get(change.key) ?? -Infinity) <= LAG_MS;
      const isOurs = ours.includes(partAuthors.get(cordon) ?? UNKNOWN) || isMarkGone;
      if (users.includes(author) && wasCordoned && !isOurs)
        add(scene, 'the cordon of somebody else is taken off a node');
      // A person who uncordons and cordons while no controller looks leaves a node with our mark, as it was: nobody can tell.
      partAuthors.set(cordon, old?.metadata.annotations?.[CORDONED_ANNOTATION] === undefined ? owner : UNKNOWN);
    }
    for (const type of OUR_CONDITIONS) {
      const part = `${change.key} ${type}`;
      const known = conditionOf(old, type);
      if (isDeepStrictEqual(known, conditionOf(fresh, type))) continue;
      const former = partAuthors.get(part);
      if (users.includes(author) && known !== undefined && former !== undefined && !ours.includes(former)) {
        add(scene, `the condition ${type} of somebody else is changed on a node`, JSON.stringify(known));
      }
      partAuthors.set(part, owner);
    }
  };

  replay(changes, (scene) => {
    const { change, before } = scene;
    const author = authors.get(change.revision) ?? UNKNOWN;
    if (change.kind === 'Node' && !change.deleted) checkNode(scene, author);
    if (change.deleted && change.kind === 'Node') {
      for (const part of partAuthors.keys()) if (part.startsWith(`${change.key} `)) partAuthors.delete(part);
    }
    if (!users.includes(author) || before === undefined || change.deleted) return;
    const part = difference(change.kind, boundBefore(before, change, boundByOthers), change.object);
    if (part !== undefined) add(scene, `${part} of a ${change.kind} that the product does not own is changed`);
    if (change.kind !== 'NodeMaintenance') return;
    const [old, fresh] = [before as NodeMaintenance, change.object as NodeMaintenance];
    // That of a shutdown is the agent's own.
    if (old.metadata.name.startsWith('shutdown-') || fresh.metadata.deletionTimestamp !== undefined) return;
    if (old.spec.stage === fresh.spec.stage) return;
    add(scene, 'the stage of a maintenance that is not being deleted is changed');
  });
  return found;
}
