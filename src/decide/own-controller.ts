import { CONTROLLER_NAMESPACE } from '../api/lease.ts';
import type { Pod } from '../api/pod.ts';

/** The label of the controller's Deployment in manifests/, and its value. */
const NAME_LABEL = 'app.kubernetes.io/name';
const CONTROLLER_NAME = 'nodemaint-controller';

/** Whether the pod is a replica of the nodemaint controller. It leaves after all other Default pods. */
export function isOwnController({ metadata }: Pick<Pod, 'metadata'>): boolean {
  return metadata.namespace === CONTROLLER_NAMESPACE && metadata.labels?.[NAME_LABEL] === CONTROLLER_NAME;
}
