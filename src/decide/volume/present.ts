import type { Node } from '../../api/pod.ts';
import type { VolumeLeft } from '../../api/node-maintenance.ts';
import type { VolumeAttachment } from '../../api/volume-attachment.ts';

/** A volume that is on a node now, whoever uses it. */
export type PresentVolume = Pick<VolumeLeft, 'name' | 'driver' | 'waitsFor' | 'message'>;

/** A volume of a CSI driver, as the unique name of a volume in the status of a node says. */
export interface CsiVolume {
  readonly driver: string;
  readonly handle: string;
}

/** What is known of the volumes of one node. */
export interface VolumeSources {
  readonly status: Pick<NonNullable<Node['status']>, 'volumesInUse' | 'volumesAttached'> | undefined;
  /** The VolumeAttachments of the node. */
  readonly attachments: readonly VolumeAttachment[];
  /** The name of the VolumeAttachment of a volume on the node, as the attach/detach controller names it. */
  readonly attachmentNameOf: (volume: CsiVolume) => string;
}

/** Names are cut to what the API server takes for a name. */
const MAX_NAME = 253;
const MAX_MESSAGE = 256;
const CSI_VOLUME = /^kubernetes\.io\/csi\/([^^]+)\^(.+)$/s;

/** The volume of a CSI driver that a unique name means, such as kubernetes.io/csi/DRIVER^HANDLE; undefined for another. */
export function csiVolumeOf(uniqueName: string): CsiVolume | undefined {
  const [, driver, handle] = CSI_VOLUME.exec(uniqueName) ?? [];
  return driver === undefined || handle === undefined ? undefined : { driver, handle };
}

/** What a volume of a driver that is built into Kubernetes is called, such as kubernetes.io/iscsi/NAME. */
function builtInVolume(uniqueName: string): Pick<PresentVolume, 'name' | 'driver'> {
  const [, driver = '', name = uniqueName] = /^([^/]+\/[^/]+)\/(.+)$/s.exec(uniqueName) ?? [];
  return { driver: driver.slice(0, MAX_NAME), name: name.slice(0, MAX_NAME) };
}

function attached({ metadata, spec, status }: VolumeAttachment): Omit<PresentVolume, 'waitsFor'> {
  const message = status?.detachError?.message?.slice(0, MAX_MESSAGE) ?? '';
  const name = spec.source?.persistentVolumeName ?? metadata.name;
  return { name: name.slice(0, MAX_NAME), driver: spec.attacher.slice(0, MAX_NAME), ...(message && { message }) };
}

/** The volumes that are on a node: first those that the kubelet has to unmount, then those that have to be detached. */
export function presentVolumes({ status, attachments, attachmentNameOf }: VolumeSources): readonly PresentVolume[] {
  const left = new Map(attachments.map((each) => [each.metadata.name, each]));
  /** A volume by its unique name, with what its VolumeAttachment says, which is not counted a second time then. */
  const take = (uniqueName: string): Omit<PresentVolume, 'waitsFor'> => {
    const volume = csiVolumeOf(uniqueName);
    if (volume === undefined) return builtInVolume(uniqueName);
    const name = attachmentNameOf(volume);
    const attachment = left.get(name);
    left.delete(name);
    if (attachment !== undefined) return attached(attachment);
    return { name: volume.handle.slice(0, MAX_NAME), driver: volume.driver.slice(0, MAX_NAME) };
  };
  const inUse = [...new Set(status?.volumesInUse ?? [])];
  const unmount = inUse.map((name) => ({ ...take(name), waitsFor: 'Unmount' as const }));
  const known = new Set(inUse);
  const others = (status?.volumesAttached ?? []).filter(({ name }) => !known.has(name));
  const detach = [...others.map(({ name }) => take(name)), ...[...left.values()].map(attached)];
  return [...unmount, ...detach.map((each) => ({ ...each, waitsFor: 'Detach' as const }))];
}
