import type { Pod } from '../../src/api/pod.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';

/** A maintenance in the Drain stage of one node. */
export function maintenanceOf(name: string, node: string, spec: object = {}): object {
  return {
    apiVersion: 'nodemaintenance.x-k8s.io/v1alpha1',
    kind: 'NodeMaintenance',
    metadata: { name },
    spec: {
      stage: 'Drain',
      reason: 'new firmware',
      nodeSelector: {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }],
      },
      ...spec,
    },
  };
}

/** The pods with the label app=NAME in the namespace default. */
export async function podsOf({ kubectl }: ControlPlane, name: string): Promise<readonly Pod[]> {
  const text = await kubectl(['get', 'pods', '-l', `app=${name}`, '-o', 'json']);
  return (JSON.parse(text) as { items: readonly Pod[] }).items;
}
