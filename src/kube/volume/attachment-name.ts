import { createHash } from 'node:crypto';
import type { CsiVolume } from '../../decide/volume/present.ts';

/** The name that the attach/detach controller gives the VolumeAttachment of a volume (pkg/volume/csi, getAttachmentName). */
export function attachmentName({ handle, driver }: CsiVolume, node: string): string {
  return `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`;
}
