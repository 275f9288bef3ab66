/** The interceptor that adds a pod to a Deployment before one of its pods is evicted (KEP-4563, "Pod Surge Example"). */
export const SURGE_INTERCEPTOR = 'surge.nodemaintenance.x-k8s.io';
/** On a Deployment: the pods for which others were added, and its replicas without these (JSON; `surgeRecordOf`). */
export const SURGE_ANNOTATION = 'nodemaintenance.x-k8s.io/surge';
/** On a Deployment that has the annotation: "true". */
export const SURGE_LABEL = 'nodemaintenance.x-k8s.io/surge';
