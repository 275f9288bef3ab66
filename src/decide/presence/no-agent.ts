/** Static pods of a node whose agent does not live: nobody ends them, so a drain waits for ever unless a person acts. */
import type { EvictionRequest } from '../../api/eviction-request.ts';
import type { KubeObject } from '../../api/meta.ts';
import { AGENT_STATUS_ANNOTATION, KUBELET_INTERCEPTOR } from '../../api/names.ts';
import type { BlockingPod } from '../../api/node-maintenance.ts';
import type { Pod } from '../../api/pod.ts';
import { interceptorEntry } from '../eviction/heartbeat.ts';
import { podTypeOf } from '../pod.ts';
import { isFromUrl } from '../static-pod/url-pods.ts';
import { timeOf } from '../time.ts';
import { overdueMs, readPresence } from './presence.ts';

/** After so long without a heartbeat whoever acted as the agent does so no more; heartbeats are due every three minutes. */
const SILENT_MS = 7 * 60_000;
/** What a person can do. */
const REMEDY =
  "only an agent ends static pods: start it there, or move their manifests out of the node's static pod directory by hand";

/** Why nobody ends static pods of the node, as the beginning of a sentence; undefined where its agent lives. */
function whyNoAgent({ metadata: { name, annotations = {} } }: KubeObject, now: number): string | undefined {
  const text = annotations[AGENT_STATUS_ANNOTATION];
  if (text === undefined) return `no agent has reported from node ${name}`;
  const agent = readPresence(text);
  if (agent === undefined) return `the report of the agent of node ${name} cannot be read`;
  if (agent.phase === 'stopped') return `the agent of node ${name} was stopped at ${agent.at}`;
  return overdueMs(agent, now) === undefined ? undefined : `the agent of node ${name} last reported at ${agent.at}`;
}

/** Why the static pods of a node would stay, with what to do; undefined where it has none, or an agent that ends them. */
export function staticPodsStay(node: KubeObject, pods: readonly Pod[], now: number): string | undefined {
  const stay = pods.filter((pod) => podTypeOf(pod) === 'Static' && !isFromUrl(pod));
  const why = stay.length === 0 ? undefined : whyNoAgent(node, now);
  if (why === undefined) return undefined;
  const [first] = stay;
  const name = first === undefined ? '' : `${first.metadata.namespace}/${first.metadata.name}`;
  const more = stay.length === 1 ? name : `${stay.length}, such as ${name}`;
  return `${why}, and it has static pods (${more}); ${REMEDY}`;
}

/** What is known of the pod's drain. */
interface StaticPodDrain {
  /** The node's object; undefined where it is not known. */
  readonly node: KubeObject | undefined;
  readonly request: EvictionRequest | undefined;
  /** When the drain began, RFC 3339. */
  readonly since: string;
}

/** That nobody ends a static pod that leaves or is to leave; undefined for other pods, and where somebody does. */
export function whyNobodyEnds(
  pod: Pod,
  { node, request, since }: StaticPodDrain,
  now: number,
): BlockingPod | undefined {
  if (podTypeOf(pod) !== 'Static' || isFromUrl(pod) || pod.metadata.deletionTimestamp !== undefined) return undefined;
  const entry = request === undefined ? undefined : interceptorEntry(request, KUBELET_INTERCEPTOR);
  const heardAt = timeOf(entry?.heartbeatTime);
  // A kubelet that answers by itself reports nothing, and needs no agent.
  if (entry?.completionTime !== undefined || (heardAt !== undefined && now - heardAt < SILENT_MS)) return undefined;
  const why = node && whyNoAgent(node, now);
  if (why === undefined) return undefined;
  const { name, namespace = 'default' } = pod.metadata;
  return { namespace, name, reason: 'NoAgent', message: `${why}, and ${REMEDY}`, since };
}
