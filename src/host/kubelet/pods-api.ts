/**
 * The Pods API of the kubelet (KEP-4188; Kubernetes 1.37, on by default): all pods of the node with their specs, also while no
 * API server answers. Its answer has each v1.Pod as bytes, which are written as an embedded message is: so it is read as one,
 * with the fields that are needed. Field numbers are those of k8s.io/api and k8s.io/kubelet 0.37, and never change.
 */
import type { Pod } from '../../api/pod.ts';
import { isFromManifest } from '../../decide/shutdown/running-pods.ts';
import { type PathTrust, requireTrustedPath, type WantedPath } from '../files/trusted-path.ts';
import { callService, type RemoteService } from '../cri/connection.ts';
import { field, message, method, repeated, stringMap } from '../protobuf.ts';

/** Below the root directory of the kubelet. */
export const PODS_API_SOCKET = 'pods-api/pods-api.sock';
const TIMEOUT_MS = 2_000;
const SOCKET: WantedPath = { kind: 'socket', lastLink: 'refuse' };

const PACKAGE = {
  Pods: { methods: { ListPods: method('ListPods') } },
  ListPodsRequest: message({}),
  ListPodsResponse: message({ pods: repeated('Pod', 1) }),
  Pod: message({ metadata: field('ObjectMeta', 1), spec: field('PodSpec', 2) }),
  ObjectMeta: message({
    name: field('string', 1),
    namespace: field('string', 3),
    uid: field('string', 5),
    annotations: stringMap(12),
    ownerReferences: repeated('OwnerReference', 13),
  }),
  OwnerReference: message({
    kind: field('string', 1),
    name: field('string', 3),
    uid: field('string', 4),
    apiVersion: field('string', 5),
    controller: field('bool', 6),
  }),
  PodSpec: message({
    volumes: repeated('Volume', 1),
    terminationGracePeriodSeconds: field('int64', 4),
    priority: field('int32', 25),
  }),
  Volume: message({ name: field('string', 1), volumeSource: field('VolumeSource', 2) }),
  VolumeSource: message({ hostPath: field('HostPath', 1) }),
  HostPath: message({ path: field('string', 1) }),
};

const SERVICE: RemoteService = {
  describe: () => ({ nested: { v1alpha1: { nested: PACKAGE } } }),
  name: 'v1alpha1.Pods',
};

interface WireVolume {
  readonly name: string;
  readonly volumeSource: { readonly hostPath: { readonly path: string } | null } | null;
}

interface WirePod {
  readonly metadata: Pod['metadata'] | null;
  readonly spec: {
    readonly priority: number;
    readonly terminationGracePeriodSeconds: number;
    readonly volumes: readonly WireVolume[];
  } | null;
}

function volumeOf({ name, volumeSource }: WireVolume): NonNullable<Pod['spec']['volumes']>[number] {
  const hostPath = volumeSource?.hostPath;
  return hostPath === undefined || hostPath === null ? { name } : { name, hostPath };
}

/** Undefined for a static pod: to the kubelet it has no mirror annotation, and its manifest tells more. */
function podOf({ metadata, spec }: WirePod): Pod | undefined {
  if (metadata === null || spec === null) return undefined;
  if (isFromManifest({ annotations: metadata.annotations ?? {} })) return undefined;
  return { metadata, spec: { ...spec, volumes: spec.volumes.map(volumeOf) } };
}

/**
 * Lists the pods that the kubelet with this root directory has from the API server; undefined where it has no such socket.
 * Throws where nothing listens there, within two seconds where nothing answers, and while the kubelet does not know all of its
 * pods yet; PATH_NOT_TRUSTED where others than root can replace the socket.
 */
export async function listKubeletPods(
  rootDirectory: string,
  signal: AbortSignal,
  trust?: PathTrust,
): Promise<readonly Pod[] | undefined> {
  const socket = await requireTrustedPath(`${rootDirectory}/${PODS_API_SOCKET}`, SOCKET, trust);
  if (socket === undefined) return undefined;
  const call = { method: 'ListPods', request: {}, timeoutMs: TIMEOUT_MS };
  const { pods } = await callService<{ readonly pods: readonly WirePod[] }>(`unix://${socket}`, SERVICE, call, signal);
  return pods.flatMap((pod) => podOf(pod) ?? []);
}
