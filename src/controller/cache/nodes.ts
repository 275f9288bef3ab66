import { AGENT_STATUS_ANNOTATION } from '../../api/names.ts';
import type { Node } from '../../api/pod.ts';
import { drainedBefore, isControlPlane, isHealthy } from '../../decide/maintenance/control-plane-members.ts';
import { carriersOn, readPresence } from '../../decide/presence/presence.ts';
import type { ObjectCache } from '../../kube/watch.ts';

/** The controller's copies of nodes, with those of the control plane at hand. */
export interface NodeIndex extends ObjectCache<Node> {
  /** The members of the control plane, sorted by their names. */
  controlPlane(): readonly Node[];
  /** Notes that the node came, changed or went. */
  note(name: string): ObservedNodeChange;
}

/** What has changed about a node. */
export interface ObservedNodeChange {
  /** The control plane has other members now, or other healthy ones; its pods are not looked at here. */
  readonly isOtherControlPlane: boolean;
  /** What the requests of its pods go by has changed: not only what is in its conditions and annotations. */
  readonly isOtherForRequests: boolean;
}

/** What the requests of the node's pods go by: which maintenances select it, whether it was booted since, and what stays. */
function textForRequests(node: Node): string {
  const { uid, labels, deletionTimestamp } = node.metadata;
  const { spec, status } = node;
  return JSON.stringify([
    uid,
    labels,
    deletionTimestamp,
    spec?.unschedulable,
    status?.nodeInfo?.bootID,
    carriersOn(node),
  ]);
}

/** What the guard of the control plane goes by, beside the pods of the member. */
function memberText(node: Node): string {
  const agent = readPresence(node.metadata.annotations?.[AGENT_STATUS_ANNOTATION] ?? '');
  return JSON.stringify([isHealthy(node), drainedBefore(node), agent?.phase]);
}

/** Notes the text of what is read of an object, undefined where nothing is; returns whether it was another before. */
export function isOtherText(texts: Map<string, string>, key: string, text: string | undefined): boolean {
  const before = texts.get(key);
  if (text === undefined) texts.delete(key);
  else texts.set(key, text);
  return before !== text;
}

/** Indexes the cached nodes; each change has to be noted. */
export function createNodeIndex(cache: ObjectCache<Node>): NodeIndex {
  /** What is known of each member, by its name. */
  const members = new Map<string, string>();
  let sorted: readonly string[] = [];
  const texts = new Map<string, string>();
  return {
    ...cache,
    controlPlane: () => sorted.flatMap((name) => cache.get(name) ?? []),
    note: (name) => {
      const node = cache.get(name);
      const member = node !== undefined && isControlPlane(node) ? memberText(node) : undefined;
      const isOtherControlPlane = isOtherText(members, name, member);
      const isOtherForRequests = isOtherText(texts, name, node && textForRequests(node));
      if (isOtherControlPlane) sorted = [...members.keys()].toSorted();
      return { isOtherControlPlane, isOtherForRequests };
    },
  };
}
