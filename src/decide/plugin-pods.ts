/** DaemonSet pods that other pods of their node need until these are gone: drivers of the kubelet, and the network of the pods. */
import type { Pod, PodVolume } from '../api/pod.ts';

/** Where a driver registers with the kubelet, below the kubelet's directory wherever that is: of storage (CSI), or of devices (DRA). */
const REGISTRY = /\/plugins_registry\/?$/;
/** Where the plugins of the network are, and their configuration. */
const NETWORK = /^\/(?:etc\/cni\/net\.d|opt\/cni\/bin)(?:\/|$)/;

function mounts({ spec }: Pick<Pod, 'spec'>, path: RegExp): boolean {
  return spec.volumes?.some(({ hostPath }) => hostPath !== undefined && path.test(hostPath.path)) === true;
}

/**
 * The order in which a DaemonSet pod leaves its node: 0 for most, 1 for one that runs a driver, which unmounts the volumes of the
 * others, 2 for one that runs the network, which the end of each other pod needs.
 */
export function orderOfLeaving(pod: Pick<Pod, 'spec'>): 0 | 1 | 2 {
  if (mounts(pod, REGISTRY)) return 1;
  return mounts(pod, NETWORK) ? 2 : 0;
}

/** Whether the pod may have a volume that a driver has to unmount. */
export function usesDriver({ spec }: Pick<Pod, 'spec'>): boolean {
  return (spec.volumes ?? []).some(
    ({ persistentVolumeClaim, ephemeral, csi }) =>
      persistentVolumeClaim !== undefined || ephemeral !== undefined || csi !== undefined,
  );
}

/** Those parts of the volumes of a pod that the rules look at, emptyDir among them because its data is lost; undefined where they look at none. */
export function volumesThatMatter(volumes: readonly PodVolume[] = []): readonly PodVolume[] | undefined {
  const kept = volumes.flatMap(
    ({ persistentVolumeClaim, ephemeral, csi, hostPath, emptyDir }): readonly PodVolume[] => {
      if (emptyDir !== undefined) return [{ emptyDir: {} }];
      if (hostPath !== undefined) {
        const { path } = hostPath;
        return REGISTRY.test(path) || NETWORK.test(path) ? [{ hostPath: { path } }] : [];
      }
      if (csi !== undefined) return [{ csi: { driver: csi.driver } }];
      return persistentVolumeClaim === undefined && ephemeral === undefined ? [] : [{ persistentVolumeClaim: {} }];
    },
  );
  return kept.length === 0 ? undefined : kept;
}
