/** The mark by which the controller of a pod learns that it should evict the pod (Pod Evict Policy). */
import { EVICT_WANTED_ANNOTATION, IMPERATIVE_INTERCEPTOR } from '../../api/names.ts';
import type { Pod } from '../../api/pod.ts';
import type { Log } from '../../telemetry/log.ts';
import type { KubeClient } from '../client.ts';
import { keyOf, objectPath, PODS } from '../resource.ts';
import { sendForObject } from '../request.ts';

/** Sets or removes the mark. A mark that another writer has set stays: server-side apply removes only what it wrote. */
export async function applyMark(
  client: KubeClient,
  pod: Pod,
  what: 'set' | 'remove',
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid } = pod.metadata;
  const annotations = what === 'set' ? { [EVICT_WANTED_ANNOTATION]: 'true' } : {};
  // The UID makes the patch fail on a namesake, and where the pod is gone.
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid, annotations } };
  const path = objectPath(PODS, pod.metadata);
  const patch = { kind: 'apply', manager: IMPERATIVE_INTERCEPTOR } as const;
  await sendForObject(client, { method: 'PATCH', path, body, patch }, [404, 409], signal);
}

/** Sets or removes the mark, and logs it. */
export async function writeMark(
  { client, log }: { readonly client: KubeClient; readonly log: Log },
  pod: Pod,
  what: 'set' | 'remove',
  signal: AbortSignal,
): Promise<void> {
  await applyMark(client, pod, what, signal);
  log.info({ pod: keyOf(pod), mark: what }, 'told the controller of a pod about its eviction');
}
