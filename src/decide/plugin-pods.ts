/** Pods that other pods of their node need until the volumes are gone: those that run a driver of the kubelet. */
import type { Pod, PodVolume } from '../api/pod.ts';

/** Where a driver registers with the kubelet, below the kubelet's directory wherever that is. */
const REGISTRY = /\/plugins_registry\/?$/;
/** Where a driver has its socket: by convention in a directory with the name of the driver. */
const PLUGIN = /\/plugins\/([^/]+)(?:\/|$)/;

function isPluginPath(path: string): boolean {
  return REGISTRY.test(path) || PLUGIN.test(path);
}

/** Whether the pod registers a driver with the kubelet: of storage (CSI), or of devices (DRA). */
export function registersPlugin({ spec }: Pick<Pod, 'spec'>): boolean {
  return spec.volumes?.some(({ hostPath }) => hostPath !== undefined && REGISTRY.test(hostPath.path)) === true;
}

/** The names of the directories in which the pod has sockets of drivers; most are the names of the drivers. */
export function pluginNamesOf({ spec }: Pick<Pod, 'spec'>): readonly string[] {
  return (spec.volumes ?? []).flatMap(({ hostPath }) => PLUGIN.exec(hostPath?.path ?? '')?.[1] ?? []);
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
      if (hostPath !== undefined) return isPluginPath(hostPath.path) ? [{ hostPath: { path: hostPath.path } }] : [];
      if (csi !== undefined) return [{ csi: { driver: csi.driver } }];
      return persistentVolumeClaim === undefined && ephemeral === undefined ? [] : [{ persistentVolumeClaim: {} }];
    },
  );
  return kept.length === 0 ? undefined : kept;
}
