/** What the attacks with the controller's token find on the scene, and the token of one of its pods. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CONTROLLER_NAMESPACE, AGENT_LABEL, BOOT_ANNOTATION, COMPLETION_FINALIZER } from '../../../../src/api/names.ts';
import type { KubeClient } from '../../../../src/kube/client.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath } from '../../../../src/kube/resource.ts';
import { sendForObject } from '../../../../src/kube/request.ts';
import type { ControlPlane } from '../../../control-plane/control-plane.ts';
import { byName, maintenanceOf } from '../../maintenance/objects.ts';

/** The pod of the controller's replica; its token says so. The name is longer than that of a host may be. */
export const REPLICA = `${'nodemaint-'.repeat(6)}controller-5f7c9-x2x4d`;
/** The maintenance of a shutdown of n3, which has the finalizers of the controller and of another program, and a status. */
export const OF_N3 = { name: 'shutdown-n3-0' };
/** When its stage began. */
export const STARTED = '2026-01-01T10:00:00Z';

/** Makes two of node n3 that name a boot: that of a shutdown, as its agent and the controller have left it, and a person's. */
export async function makeMarked(admin: KubeClient, signal: AbortSignal): Promise<void> {
  const spec = { stage: 'Cordon', nodeSelector: byName('n3') };
  const annotations = { [BOOT_ANNOTATION]: 'boot-1' };
  const labels = { [AGENT_LABEL]: 'n3' };
  const finalizers = [COMPLETION_FINALIZER, 'example.com/hold'];
  const path = collectionPath(NODE_MAINTENANCES);
  for (const metadata of [
    { ...OF_N3, annotations, labels, finalizers },
    { name: 'with-boot-id', annotations },
  ]) {
    await sendForObject(admin, { method: 'POST', path, body: maintenanceOf(spec, metadata) }, [], signal);
  }
  const body = { status: { stageStatuses: [{ name: 'Cordon', startTimestamp: STARTED }] } };
  const status = objectPath(NODE_MAINTENANCES, OF_N3, 'status');
  await sendForObject(admin, { method: 'PATCH', path: status, body, patch: { kind: 'merge' } }, [], signal);
}

/** A kubeconfig with a token of the controller's account that is bound to one of its pods, as a kubelet gets it. */
export async function replicaKubeconfig({ kubectl, adminKubeconfig, folder }: ControlPlane): Promise<string> {
  const restricted = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
  };
  const containers = [{ name: 'main', image: 'none.invalid/none', securityContext: restricted }];
  const spec = { serviceAccountName: 'nodemaint-controller', containers };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: REPLICA, namespace: CONTROLLER_NAMESPACE }, spec };
  await kubectl(['create', '-f', '-'], JSON.stringify(pod));
  const bound = ['--bound-object-kind=Pod', `--bound-object-name=${REPLICA}`];
  const token = (
    await kubectl(['create', 'token', 'nodemaint-controller', '-n', CONTROLLER_NAMESPACE, ...bound])
  ).trim();
  const config = JSON.parse(await readFile(adminKubeconfig, 'utf8')) as { users: { user: object }[] };
  const [user] = config.users;
  if (user !== undefined) user.user = { token };
  const file = path.join(folder, 'replica.conf');
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}
