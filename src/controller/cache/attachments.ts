import type { Node } from '../../api/pod.ts';
import type { VolumeAttachment } from '../../api/volume-attachment.ts';
import { type PresentVolume, presentVolumes } from '../../decide/volume/present.ts';
import { attachmentName } from '../../kube/volume/attachment-name.ts';
import type { ObjectCache } from '../../kube/watch.ts';
import { createGrouping } from '../../kube/copy/grouping.ts';

/** The controller's copies of VolumeAttachments, found by their nodes. */
export interface AttachmentIndex extends ObjectCache<VolumeAttachment> {
  on(node: string): readonly VolumeAttachment[];
  /** Notes that the attachment came, changed or went, and returns the node that it was, or is, attached to. */
  note(name: string): string | undefined;
}

/** Indexes the cached attachments; each change has to be noted. */
export function createAttachmentIndex(cache: ObjectCache<VolumeAttachment>): AttachmentIndex {
  const byNode = createGrouping();
  return {
    ...cache,
    on: (node) => [...byNode.under(node)].flatMap((name) => cache.get(name) ?? []),
    note: (name) => {
      const [before] = byNode.valuesOf(name);
      const node = cache.get(name)?.spec.nodeName;
      byNode.set(name, node === undefined ? [] : [node]);
      return node ?? before;
    },
  };
}

/** Where the volumes of nodes are known from. */
interface VolumeCopies {
  readonly nodes: Pick<ObjectCache<Node>, 'get'>;
  readonly attachments: Pick<AttachmentIndex, 'on'>;
}

/** The volumes that are on the node in our copies. */
export function volumesOn({ nodes, attachments }: VolumeCopies, node: string): readonly PresentVolume[] {
  return presentVolumes({
    status: nodes.get(node)?.status,
    attachments: attachments.on(node),
    attachmentNameOf: (volume) => attachmentName(volume, node),
  });
}
