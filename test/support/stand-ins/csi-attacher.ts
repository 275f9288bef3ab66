/** A program that does what csi-attacher does: attaches at once, and takes a second to detach. Its argument is its kubeconfig. */
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubeObject } from '../../../src/api/meta.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createKubeClient } from '../../../src/kube/client.ts';
import { collectionPath, objectPath, type Resource } from '../../../src/kube/resource.ts';

const VOLUME_ATTACHMENTS: Resource = {
  root: '/apis/storage.k8s.io/v1',
  plural: 'volumeattachments',
  namespaced: false,
};

const LOOK_MS = 300;
const DETACH_MS = 1_000;
const FINALIZER = 'external-attacher/test';

interface Attachment extends KubeObject {
  readonly status?: { readonly attached?: boolean };
}

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
const { signal } = stop;
const client = createKubeClient(await loadClusterAccess(process.argv[2]), 'csi-attacher');

async function patch({ metadata }: Attachment, body: object, subresource?: string): Promise<void> {
  const path = objectPath(VOLUME_ATTACHMENTS, metadata, subresource);
  await client.send({ method: 'PATCH', path, body, patch: { kind: 'merge' } }, signal);
}

async function serve(attachment: Attachment): Promise<void> {
  if (attachment.metadata.deletionTimestamp !== undefined) {
    await delay(DETACH_MS, undefined, { signal });
    await patch(attachment, { metadata: { finalizers: [] } });
  } else if (attachment.status?.attached !== true) {
    await patch(attachment, { metadata: { finalizers: [FINALIZER] } });
    await patch(attachment, { status: { attached: true } }, 'status');
  }
}

async function look(): Promise<void> {
  const { body } = await client.send({ method: 'GET', path: collectionPath(VOLUME_ATTACHMENTS) }, signal);
  const { items = [] } = body as { items?: readonly Attachment[] };
  await Promise.all(items.map(serve));
}

while (!signal.aborted) {
  await look().catch((error: unknown) => {
    if (!signal.aborted) console.error(String(error));
  });
  await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
}
client.close();
