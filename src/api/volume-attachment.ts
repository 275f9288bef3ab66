import type { KubeObject } from './meta.ts';

/** The parts of a storage.k8s.io/v1 VolumeAttachment that the rules look at. */
export interface VolumeAttachment extends KubeObject {
  readonly spec: {
    /** The name of the driver. */
    readonly attacher: string;
    readonly nodeName: string;
    readonly source?: { readonly persistentVolumeName?: string };
  };
  readonly status?: { readonly detachError?: { readonly message?: string } };
}
