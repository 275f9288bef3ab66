import { type DisruptionMode, disruptionModeOf, type PodGroup } from '../../decide/pod-group/pod-group.ts';
import type { KubeClient } from '../client.ts';
import { objectPath, type Resource, sendForObject } from '../resource.ts';

/** The versions of the API that can say how a group is disrupted, the newest first: Kubernetes 1.37, and 1.36. */
export const POD_GROUPS: readonly Resource[] = ['v1beta1', 'v1alpha2'].map((version) => {
  return { root: `/apis/scheduling.k8s.io/${version}`, plural: 'podgroups', namespaced: true };
});

/**
 * Reads how the pods of a PodGroup can be disrupted. A group that does not exist, which the API allows, says nothing, and
 * neither does an API server without the API. Throws API_UNREACHABLE and API_REFUSED.
 */
export async function readDisruptionMode(
  client: KubeClient,
  group: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<DisruptionMode> {
  for (const resource of POD_GROUPS) {
    const path = objectPath(resource, group);
    const found = await sendForObject<PodGroup>(client, { method: 'GET', path }, [404], signal);
    if (found !== undefined) return disruptionModeOf(found);
  }
  return 'single';
}
