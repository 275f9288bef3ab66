import type { EvictionRequest } from '../../api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION, MAINTENANCE_REQUESTER, NODE_LABEL } from '../../api/names.ts';
import type { DrainResolution } from '../../decide/drain/resolution.ts';
import { isFinished } from '../../decide/eviction/request.ts';
import { isRequestedBy } from '../../decide/eviction/requester.ts';
import { isReplaceable } from '../../decide/eviction/spent.ts';
import { nodeAnnotation, nodeLabel } from '../../decide/node-label.ts';
import type { DrainPod } from '../../decide/pod.ts';
import { shortenEnd } from '../../kube/eviction/evictor.ts';
import { EVICTION_REQUESTS, objectPath, sendForObject } from '../../kube/resource.ts';
import type { ControllerContext } from '../context.ts';
import { deadlineAnnotations, graceOptions } from '../deadline.ts';
import type { EvictionIntent } from './observer.ts';

/** One after another, the requests for a full node would take seconds of a short notice. */
const PARALLEL_REQUESTS = 16;

/** Makes or keeps the EvictionRequest of a pod, with this controller's requester entry (KEP-4212, "Drain"). */
async function requestEviction(
  context: ControllerContext,
  pod: DrainPod,
  node: string,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, uid } = pod;
  const known = context.requests.get(`${namespace}/${uid}`);
  if (known !== undefined && (isFinished(known) || known.metadata.deletionTimestamp !== undefined)) {
    const target = context.pods.get(`${namespace}/${pod.name}`);
    if (target?.metadata.uid !== uid || !isReplaceable(known, target, context.clock.now())) return;
    const path = objectPath(EVICTION_REQUESTS, known.metadata);
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: known.metadata.uid } };
    await sendForObject(context.client, { method: 'DELETE', path, body }, [404, 409], signal);
    return;
  }
  const annotations = { ...deadlineAnnotations(context, pod, node, known), ...nodeAnnotation(node) };
  const isCurrent = Object.entries(annotations).every(([key, value]) => known?.metadata.annotations?.[key] === value);
  if (isCurrent && isRequestedBy(known, MAINTENANCE_REQUESTER)) return;
  const body: EvictionRequest = {
    apiVersion: EVICTION_REQUEST_API_VERSION,
    kind: 'EvictionRequest',
    metadata: { name: uid, namespace, labels: { [NODE_LABEL]: nodeLabel(node) }, annotations },
    spec: { target: { pod: { name: pod.name, uid } }, requesters: [{ name: MAINTENANCE_REQUESTER }] },
  };
  const path = objectPath(EVICTION_REQUESTS, body.metadata);
  const patch = { kind: 'apply', manager: MAINTENANCE_REQUESTER } as const;
  await sendForObject(context.client, { method: 'PATCH', path, body, patch }, [404], signal);
  context.log.info({ pod: `${namespace}/${pod.name}`, node, podType: pod.podType }, 'requested eviction');
}

/** Asks for these evictions, in their order. Throws API_UNREACHABLE and API_REFUSED. */
export async function requestEvictions(
  context: ControllerContext,
  intents: readonly EvictionIntent[],
  signal: AbortSignal,
): Promise<void> {
  for (let at = 0; at < intents.length; at += PARALLEL_REQUESTS) {
    const batch = intents.slice(at, at + PARALLEL_REQUESTS);
    await Promise.all(batch.map(({ node, pod }) => requestEviction(context, pod, node, signal)));
  }
}

/** Gives pods that are terminating already less time where a deadline asks for it. */
export async function shortenEnds(
  context: ControllerContext,
  { nodes }: DrainResolution,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, log } = context;
  for (const { namespace, name, uid, podType } of nodes.flatMap(({ evicting }) => evicting)) {
    // The grace period of a static pod is not the API server's to change: its agent ends it in time.
    const pod = podType === 'Static' ? undefined : context.pods.get(`${namespace}/${name}`);
    if (pod?.metadata.uid !== uid || pod.metadata.deletionTimestamp === undefined) continue;
    const isShorter = await shortenEnd(client, pod, { options: graceOptions(context, pod), now: clock.now() }, signal);
    if (isShorter) log.info({ pod: `${namespace}/${name}` }, 'shortened the end of a terminating pod for a deadline');
  }
}
