import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { EVICTION_REQUEST_API_VERSION, KUBELET_INTERCEPTOR, NODE_LABEL } from '../../../src/api/names.ts';
import type { DrainPlanEntry } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import {
  collectionPath,
  EVICTION_REQUESTS,
  NODE_MAINTENANCES,
  objectPath,
  PODS,
  sendForObject,
} from '../../../src/kube/resource.ts';
import { type EvictionRig, NODE } from './eviction.ts';
import { writeAgentFiles } from '../agent/files.ts';
import { drainOf } from '../maintenance/objects.ts';

/** Static pods of NODE as the API server and the disk have them, without a kubelet and without our controller. */
export interface MirrorRig {
  readonly staticPodPath: string;
  readonly runDirectory: string;
  readonly configFile: string;
  /** Writes a manifest NAME.yaml. */
  writeManifest(name: string): Promise<void>;
  /** Makes the mirror pod of a manifest as a kubelet does. */
  createMirror(name: string): Promise<Pod>;
  /** Makes the request for a pod of this name and UID, labelled with NODE as the controller labels it. */
  createRequest(name: string, uid: string): Promise<void>;
  /** Gives the kubelet its turn, as the controller does. */
  activate(uid: string): Promise<void>;
  getRequest(uid: string): Promise<EvictionRequest | undefined>;
  /** Does what the NodeMaintenance controller does in a drain. */
  target(drainTargets: readonly DrainPlanEntry[]): Promise<void>;
}

const NAMESPACE = 'kube-system';
const never = new AbortController().signal;

/** Lays out a node's folders and its agent's configuration beside the rig's API server. */
export async function buildMirrorRig(rig: EvictionRig): Promise<MirrorRig> {
  const { client, controlPlane, folder } = rig;
  const staticPodPath = path.join(folder, 'manifests');
  await mkdir(staticPodPath);
  const kubeconfig = await controlPlane.kubeconfigFor(`system:node:${NODE}`, ['system:nodes']);
  const { configFile, runDirectory } = await writeAgentFiles(folder, { kubeconfig });
  const pathOf = (uid: string, subresource?: string): string =>
    objectPath(EVICTION_REQUESTS, { name: uid, namespace: NAMESPACE }, subresource);
  const patch = async (place: string, body: object): Promise<void> => {
    await sendForObject(client, { method: 'PATCH', path: place, body, patch: { kind: 'merge' } }, [], never);
  };
  let made = false;
  return {
    staticPodPath,
    runDirectory,
    configFile,
    writeManifest: async (name) => {
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: NAMESPACE }, spec: {} };
      await writeFile(path.join(staticPodPath, `${name}.yaml`), JSON.stringify(pod));
    },
    createMirror: async (name) => {
      const body = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: `${name}-${NODE}`,
          annotations: { 'kubernetes.io/config.mirror': name, 'kubernetes.io/config.hash': name },
        },
        spec: { nodeName: NODE, containers: [{ name: 'main', image: 'none.invalid/none' }] },
      };
      const request = { method: 'POST', path: collectionPath(PODS, NAMESPACE), body } as const;
      return (await sendForObject<Pod>(client, request, [], never)) as Pod;
    },
    createRequest: async (name, uid) => {
      const body = {
        apiVersion: EVICTION_REQUEST_API_VERSION,
        kind: 'EvictionRequest',
        metadata: { name: uid, labels: { [NODE_LABEL]: NODE } },
        spec: { target: { pod: { name: `${name}-${NODE}`, uid } }, requesters: [{ name: 'test.example.com' }] },
      };
      const request = { method: 'POST', path: collectionPath(EVICTION_REQUESTS, NAMESPACE), body } as const;
      await sendForObject(client, request, [], never);
    },
    activate: async (uid) => {
      const names = [KUBELET_INTERCEPTOR, 'imperative-eviction.k8s.io'];
      const targetInterceptors = names.map((name) => ({ name }));
      const interceptors = names.map((name) => ({ name, message: '' }));
      const status = { activeInterceptors: [KUBELET_INTERCEPTOR], processedInterceptors: [] };
      await patch(pathOf(uid, 'status'), { status: { targetInterceptors, interceptors, ...status } });
    },
    getRequest: (uid) => sendForObject<EvictionRequest>(client, { method: 'GET', path: pathOf(uid) }, [404], never),
    target: async (drainTargets) => {
      const name = 'upgrade';
      if (!made) {
        const body = drainOf(name, [NODE], { reason: 'OS upgrade' });
        await sendForObject(client, { method: 'POST', path: collectionPath(NODE_MAINTENANCES), body }, [], never);
        made = true;
      }
      const nodeStatuses = [{ nodeRef: { name: NODE }, drainTargets }];
      await patch(objectPath(NODE_MAINTENANCES, { name }, 'status'), { status: { nodeStatuses } });
    },
  };
}
