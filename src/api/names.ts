/** Names of the API, fixed by the specifications. */

export const NODE_MAINTENANCE_GROUP = 'nodemaintenance.x-k8s.io';
export const NODE_MAINTENANCE_API_VERSION = `${NODE_MAINTENANCE_GROUP}/v1alpha1`;
export const EVICTION_REQUEST_GROUP = 'coordination.x-k8s.io';
export const EVICTION_REQUEST_API_VERSION = `${EVICTION_REQUEST_GROUP}/v1alpha1`;
export const CONFIG_API_VERSION = 'agent.nodemaintenance.x-k8s.io/v1alpha1';

/** The only namespace of controller and agents' accounts: the admission policies name the accounts with it. */
export const CONTROLLER_NAMESPACE = 'nodemaint-system';

/** The interceptor of static pods; the agent implements it (KEP-4212, "kubelet: Static Pods"). */
export const KUBELET_INTERCEPTOR = 'kubelet.k8s.io';
/** The interceptor of DaemonSet pods (KEP-4212, "DaemonSet Controller"). */
export const DAEMON_SET_INTERCEPTOR = 'daemonset.apps.k8s.io';
/** The last interceptor of every pod: the Eviction API (KEP-4563, "Eviction"). */
export const IMPERATIVE_INTERCEPTOR = 'imperative-eviction.k8s.io';
/** The requester entry of the NodeMaintenance controller (KEP-4212, "Drain"). */
export const MAINTENANCE_REQUESTER = 'nodemaintenance.k8s.io';
/** Keeps a started NodeMaintenance until its Complete stage is done (KEP-4212, "Finalizers"). */
export const COMPLETION_FINALIZER = 'nodemaintenance.k8s.io/maintenance-completion';

/** On an EvictionRequest: the node of the target pod, so that an agent can watch only the requests of its node. */
export const NODE_LABEL = 'nodemaintenance.x-k8s.io/node';
/** On an EvictionRequest: the UID of the maintenance whose drain made it, or was the first to join it. */
export const MAINTENANCE_UID_LABEL = 'nodemaintenance.x-k8s.io/maintenance-uid';
/** On a NodeMaintenance: the node whose agent created it. */
export const AGENT_LABEL = 'nodemaintenance.x-k8s.io/agent';
/** On a NodeMaintenance that an agent created: the boot ID of the node at that time, as in the Node's `nodeInfo.bootID`. */
export const BOOT_ANNOTATION = 'nodemaintenance.x-k8s.io/boot-id';
/**
 * On a NodeMaintenance that an agent created: how the machine goes down, poweroff, reboot, halt, kexec or soft-reboot; absent
 * where neither systemd nor logind tells.
 */
export const SHUTDOWN_KIND_ANNOTATION = 'nodemaintenance.x-k8s.io/shutdown-kind';
/**
 * On a NodeMaintenance: the user who created it, of at most 256 characters. Admission writes it, and nobody can change it; a
 * node's agent has none.
 */
export const REQUESTED_BY_ANNOTATION = 'nodemaintenance.x-k8s.io/requested-by';
/** On the maintenance of a shutdown: who lets the machine go at once, and why (USER: REASON). */
export const RELEASE_ANNOTATION = 'nodemaintenance.x-k8s.io/release';
/** On a NodeMaintenance, "true": it may drain even the last node of the control plane. */
export const FORCE_ANNOTATION = 'nodemaintenance.x-k8s.io/force';
/** On a Node: the maintenance that cordoned it. An unschedulable node without it was cordoned by a person and stays so. */
export const CORDONED_ANNOTATION = 'nodemaintenance.x-k8s.io/cordoned';
/** On a Node: the maintenances of others that have it, so that its agent needs to watch no others (JSON; `nodeNote`). */
export const NODE_NOTE_ANNOTATION = 'nodemaintenance.x-k8s.io/maintenances';
/** On a Node: what its agent says of itself (JSON; `presenceText`). */
export const AGENT_STATUS_ANNOTATION = 'nodemaintenance.x-k8s.io/agent-status';
/** On a Node, `true`: no agent is to run there, so that its absence is no finding. */
export const WITHOUT_AGENT_LABEL = 'nodemaintenance.x-k8s.io/without-agent';
/** On the Lease of the controller: the version of the controller that wrote it last. */
export const VERSION_ANNOTATION = 'nodemaintenance.x-k8s.io/version';
/** On the Lease of the controller: the identity of a controller that writes that annotation. */
export const NOTES_BY_ANNOTATION = 'nodemaintenance.x-k8s.io/notes-by';
/** On the Lease of the controller: its options that agents go by, too, when they evict pods themselves (JSON). */
export const EVICTION_SETTINGS_ANNOTATION = 'nodemaintenance.x-k8s.io/eviction-settings';
/** On a NodeMaintenance and its EvictionRequests: when the node goes away, RFC 3339. */
export const DEADLINE_ANNOTATION = 'nodemaintenance.x-k8s.io/deadline';
/** On an EvictionRequest: until when interceptors must have finished before the node goes away, RFC 3339. */
export const INTERCEPTOR_DEADLINE_ANNOTATION = 'nodemaintenance.x-k8s.io/interceptor-deadline';
/** On a NodeMaintenance: since when the deadline is known, RFC 3339. */
export const DEADLINE_SINCE_ANNOTATION = 'nodemaintenance.x-k8s.io/deadline-since';
/** The scheduling gate that keeps a DaemonSet pod from starting during a maintenance. */
export const MAINTENANCE_GATE = 'nodemaintenance.x-k8s.io/maintenance';
/** On a pod with that gate: its target node, if the name is short enough for a label. */
export const HELD_FOR_LABEL = 'nodemaintenance.x-k8s.io/held-for';

/** Prefixes of annotations in which a pod names its interceptors, while pod specs have no field for them; the value is "PRIORITY/ROLE". */
export const INTERCEPTOR_ANNOTATION_PREFIXES = [
  'interceptor.evictionrequest.coordination.k8s.io/priority_',
  'evacuation.coordination.k8s.io/priority_',
] as const;

/**
 * The names of the reserved domain that are allowed as interceptors (KEP-4563, "Remarks on Interceptors").
 * The CRD has the same list.
 */
export const RESERVED_INTERCEPTORS: readonly string[] = [
  KUBELET_INTERCEPTOR,
  DAEMON_SET_INTERCEPTOR,
  IMPERATIVE_INTERCEPTOR,
  'deployment.apps.k8s.io',
  'replicaset.apps.k8s.io',
  'statefulset.apps.k8s.io',
  'replicationcontroller.k8s.io',
  'job.batch.k8s.io',
  'horizontalpodautoscaler.autoscaling.k8s.io',
];

/** Labels and annotations with this prefix are not copied from a pod to its EvictionRequest: they belong to this program. */
export const OWN_LABEL_PREFIX = 'nodemaintenance.x-k8s.io/';

/** On a pod: a webhook starts its eviction in the background instead of the API server (KEP-1397). */
export const EVICT_ONLY_ANNOTATION = 'descheduler.alpha.kubernetes.io/request-evict-only';
/** On a pod: its eviction in the background has started (KEP-1397). */
export const EVICTION_IN_PROGRESS_ANNOTATION = 'descheduler.alpha.kubernetes.io/eviction-in-progress';
/** On a pod: its evict policy (Pod Evict Policy); no release has a field for it in the pod's spec. */
export const EVICT_POLICY_ANNOTATION = 'coordination.x-k8s.io/evict-policy';
/** The evict policy of a pod that names none. */
export const DEFAULT_POLICY = 'Default';
/** The evict policy that leaves the eviction to the pod's controller. */
export const CONTROLLER_TAKE_OVER = 'ControllerTakeOver';
/** On a pod: its controller should evict it (Pod Evict Policy, PodEvictionWantedKey). */
export const EVICT_WANTED_ANNOTATION = 'kubernetes.io/pod-evict-wanted';

/** Set by the kubelet on the mirror pod of a static pod. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
/** Written by the kubelet on each sandbox: where it has the pod from, file, http or api. */
export const SOURCE_ANNOTATION = 'kubernetes.io/config.source';
/** When the kubelet first saw the pod; it stays when the pod gets another sandbox. Written by the kubelet. */
export const SEEN_ANNOTATION = 'kubernetes.io/config.seen';
