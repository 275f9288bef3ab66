import type { Pod } from '../../api/pod.ts';
import type { Finding } from './finding.ts';

/** An annotation of earlier builds: for how long a pod was to be out of its Services before its end. */
const TRAFFIC_DRAIN_ANNOTATION = 'nodemaintenance.x-k8s.io/traffic-drain';

/** What is to be known of annotations of the pod that had an effect in earlier builds. */
export function formerAnnotationFindings({ metadata }: Pod): readonly Finding[] {
  if (metadata.annotations?.[TRAFFIC_DRAIN_ANNOTATION] === undefined) return [];
  const message = `its annotation ${TRAFFIC_DRAIN_ANNOTATION} does nothing any more: use a preStop hook that sleeps`;
  return [{ level: 'note', message }];
}
