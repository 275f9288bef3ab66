import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { KubeObject } from '../../api/meta.ts';
import { AGENT_STATUS_ANNOTATION, MAINTENANCE_REQUESTER, NODE_NOTE_ANNOTATION } from '../../api/names.ts';
import type { Node, Pod } from '../../api/pod.ts';
import { applyMark } from '../../kube/eviction/evict-mark.ts';
import { isMarked, isTakenOver } from '../../decide/eviction/imperative.ts';
import { isRequestedBy, otherRequesters } from '../../decide/eviction/requester.ts';
import type { Clock } from '../../host/clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { deleteRequest, withdrawEntry } from '../../kube/eviction/requester-entry.ts';
import { listAll } from '../../kube/list.ts';
import { syncConditions } from '../../kube/maintenance/node-conditions.ts';
import { syncCordon } from '../../kube/maintenance/cordon.ts';
import { collectionPath, EVICTION_REQUESTS, keyOf, NODES, PODS, type Resource } from '../../kube/resource.ts';

/** What releasing a cluster needs from outside. */
export interface ReleaseContext {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Called with a sentence for each step that is done. */
  readonly say: (text: string) => void;
}

/** All objects of a resource; none where it is not installed (any more). */
export async function listOf<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const place = { path: collectionPath(resource), query, absent: [404] };
  return (await listAll<T>(client, place, (object) => object, signal)).items;
}

const NOTHING = { maintenances: [], planned: [], draining: [], drained: false } as const;

async function giveNodeBack({ client, clock, say }: ReleaseContext, name: string, signal: AbortSignal): Promise<void> {
  const annotations = { [NODE_NOTE_ANNOTATION]: undefined, [AGENT_STATUS_ANNOTATION]: undefined };
  if ((await syncCordon(client, { node: name, wantedBy: [], annotations }, signal)) === 'changed') {
    say(`Node ${name} is uncordoned.`);
  }
  const [node] = await listOf<Node>(client, NODES, { fieldSelector: `metadata.name=${name}` }, signal);
  if (node === undefined) return;
  if (await syncConditions(client, { node, state: NOTHING }, clock.now(), signal)) {
    say(`The conditions of node ${name} are cleared.`);
  }
}

/**
 * Takes back from every node, EvictionRequest and pod what maintenances have left there: cordons and conditions, requester
 * entries, marks for the controllers of pods. It changes nothing that another client has written.
 */
export async function giveEverythingBack(context: ReleaseContext, signal: AbortSignal): Promise<void> {
  const { client, say } = context;
  for (const { metadata } of await listOf<Node>(client, NODES, {}, signal)) {
    await giveNodeBack(context, metadata.name, signal);
  }
  for (const request of await listOf<EvictionRequest>(client, EVICTION_REQUESTS, {}, signal)) {
    if (!isRequestedBy(request, MAINTENANCE_REQUESTER)) continue;
    const isShared = otherRequesters(request, MAINTENANCE_REQUESTER).length > 0;
    const done = await (isShared ? withdrawEntry : deleteRequest)(client, request, signal);
    if (done) say(`EvictionRequest ${keyOf(request)} is ${isShared ? 'withdrawn from' : 'deleted'}.`);
  }
  for (const pod of await listOf<Pod>(client, PODS, {}, signal)) {
    if (!isMarked(pod) || !isTakenOver(pod)) continue;
    await applyMark(client, pod, 'remove', signal);
    say(`Pod ${keyOf(pod)} has no mark for its controller any more.`);
  }
}
