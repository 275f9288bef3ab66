import type { Node, Pod } from '../../../api/pod.ts';
import type { VolumeAttachment } from '../../../api/volume-attachment.ts';
import { type CsiVolume, csiVolumeOf, type PresentVolume, presentVolumes } from '../../../decide/volume/present.ts';
import { comesBeforeVolumes } from '../../../decide/volume/waits.ts';
import { NODES, objectPath, sendForObject, VOLUME_ATTACHMENTS } from '../../../kube/resource.ts';
import { attachmentName } from '../../../kube/volume/attachment-name.ts';
import type { ClusterDependencies } from '../../cluster/dependencies.ts';

/**
 * The volumes of this node, read with what a node may read: its own Node object, and the VolumeAttachments of its volumes
 * by their names, which follow from those of the volumes.
 */
export interface SelfVolumes {
  /** The volumes that are on the node; `node` as it was read last. Throws API_UNREACHABLE and API_REFUSED. */
  observe(node: Node | undefined, pods: readonly Pod[], signal: AbortSignal): Promise<readonly PresentVolume[]>;
  forget(): void;
}

/** The kubelet reports its volumes every ten seconds. */
const EVERY_MS = 5_000;
/** A node has at most some hundred attached volumes; each one that is not in use any more is asked for by itself. */
const MAX_ASKED = 200;
/** A node that may not read an attachment of its own is none of ours to wait for. */
const NOT_READ = [403, 404];

export function createSelfVolumes({ client, clock, nodeName }: ClusterDependencies): SelfVolumes {
  /** The volumes of CSI drivers that were seen on the node, by the names of their VolumeAttachments. */
  const seen = new Map<string, CsiVolume>();
  /** The last observation while they were waited for, on the monotonic clock. */
  let last: { readonly at: number; readonly present: readonly PresentVolume[] } | undefined;

  const nameOf = (volume: CsiVolume): string => attachmentName(volume, nodeName);
  /** Notes the volumes in the status of the node, and returns those that the kubelet still has in use. */
  const note = ({ status }: Node): ReadonlySet<string> => {
    const inUse = (status?.volumesInUse ?? []).flatMap((name) => csiVolumeOf(name) ?? []);
    const attached = (status?.volumesAttached ?? []).flatMap(({ name }) => csiVolumeOf(name) ?? []);
    for (const volume of [...inUse, ...attached]) if (seen.size < MAX_ASKED) seen.set(nameOf(volume), volume);
    return new Set(inUse.map(nameOf));
  };
  const present = (node: Node, attachments: readonly VolumeAttachment[]): readonly PresentVolume[] =>
    presentVolumes({ status: node.status, attachments, attachmentNameOf: nameOf });

  const read = async (signal: AbortSignal): Promise<readonly PresentVolume[]> => {
    const path = objectPath(NODES, { name: nodeName });
    const node = await sendForObject<Node>(client, { method: 'GET', path }, [404], signal);
    if (node === undefined) return [];
    const inUse = note(node);
    const attachments: VolumeAttachment[] = [];
    for (const name of [...seen.keys()].filter((each) => !inUse.has(each))) {
      const request = { method: 'GET', path: objectPath(VOLUME_ATTACHMENTS, { name }) } as const;
      const attachment = await sendForObject<VolumeAttachment>(client, request, NOT_READ, signal);
      if (attachment === undefined) seen.delete(name);
      else attachments.push(attachment);
    }
    return present(node, attachments);
  };

  return {
    observe: async (node, pods, signal) => {
      if (node !== undefined) note(node);
      if (pods.some(comesBeforeVolumes)) return node === undefined ? [] : present(node, []);
      if (last !== undefined && clock.monotonic() - last.at < EVERY_MS) return last.present;
      last = { at: clock.monotonic(), present: await read(signal) };
      return last.present;
    },
    forget: () => {
      seen.clear();
      last = undefined;
    },
  };
}
