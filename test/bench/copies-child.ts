/** Prints how many bytes of the heap the copy of a pod or of an EvictionRequest takes, by 10,000 of them. Needs --expose-gc. */
import process from 'node:process';
import type { EvictionRequest } from '../../src/api/eviction-request.ts';
import type { Pod } from '../../src/api/pod.ts';
import { keyOf } from '../../src/kube/resource.ts';
import { createSharedValues } from '../../src/kube/copy/shared-values.ts';
import { transformPod, transformRequest } from '../../src/kube/copy/transform.ts';

const COUNT = 10_000;
const NODES = 1_000;
const DEPLOYMENTS = 500;

function metadata(index: number, name: string): object {
  const app = `web-${index % DEPLOYMENTS}`;
  return {
    name,
    namespace: `team-${index % 50}`,
    uid: crypto.randomUUID(),
    resourceVersion: String(1_000_000 + index),
    generation: 1,
    creationTimestamp: new Date(1_795_000_000_000 + index * 1000).toISOString(),
    labels: {
      app,
      'pod-template-hash': '7c9d8b6f5',
      'app.kubernetes.io/name': 'web',
      'app.kubernetes.io/instance': app,
    },
    managedFields: [{ manager: 'kubelet', operation: 'Update', fieldsV1: { 'f:status': {} } }],
  };
}

const nodeOf = (index: number): string => `ip-10-0-${index % NODES}.eu-west-1.compute.internal`;

function podText(index: number): string {
  const owner = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    name: `web-${index % DEPLOYMENTS}-7c9d8b6f5`,
    uid: `0b1c2d3e-0000-4000-8000-${String(index % DEPLOYMENTS).padStart(12, '0')}`,
    controller: true,
  };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata(index, `web-${index % DEPLOYMENTS}-7c9d8b6f5-${index.toString(36)}`),
      annotations: { 'cni.projectcalico.org/podIP': '10.1.2.3/32', 'prometheus.io/scrape': 'true' },
      ownerReferences: [owner],
    },
    spec: {
      nodeName: nodeOf(index),
      priority: 0,
      terminationGracePeriodSeconds: 30,
      containers: [{ name: 'main', image: 'none.invalid/none' }],
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }], podIP: '10.1.2.3' },
  });
}

function requestText(index: number): string {
  const name = crypto.randomUUID();
  const imperative = 'imperative-eviction.k8s.io';
  const meta = metadata(index, name) as { labels: object };
  return JSON.stringify({
    apiVersion: 'coordination.x-k8s.io/v1alpha1',
    kind: 'EvictionRequest',
    metadata: { ...meta, labels: { ...meta.labels, 'nodemaintenance.x-k8s.io/node': nodeOf(index) } },
    spec: {
      target: { pod: { name: `web-${index % DEPLOYMENTS}-7c9d8b6f5-${index.toString(36)}`, uid: name } },
      requesters: [{ name: 'nodemaintenance.k8s.io' }],
    },
    status: {
      observedGeneration: 1,
      conditions: [
        {
          type: 'Progressing',
          status: 'True',
          reason: 'InterceptorActive',
          message: `${imperative} is the active interceptor (1 of 1).`,
          lastTransitionTime: new Date(1_795_000_000_000 + index * 100).toISOString(),
        },
      ],
      targetInterceptors: [{ name: imperative }],
      activeInterceptors: [imperative],
      processedInterceptors: [],
      interceptors: [{ name: imperative, message: '' }],
    },
  });
}

function bytesInUse(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

const shared = createSharedValues();
const copyOf =
  process.argv[2] === 'pods'
    ? (index: number): Pod => transformPod(JSON.parse(podText(index)) as Pod, shared)
    : (index: number): EvictionRequest => transformRequest(JSON.parse(requestText(index)) as EvictionRequest, shared);
for (let index = 0; index < COUNT; index += 1) copyOf(index);
const copies = new Map<string, Pod | EvictionRequest>();
const before = bytesInUse();
for (let index = 0; index < COUNT; index += 1) {
  const copy = copyOf(index);
  copies.set(keyOf(copy), copy);
}
console.log(Math.round((bytesInUse() - before) / copies.size));
