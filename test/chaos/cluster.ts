import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadClusterAccess } from '../../src/kube/access/cluster.ts';
import { createKubeClient } from '../../src/kube/client.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';

import { waitFor } from '../support/wait-for.ts';
import { makeTestFolder } from '../support/folder.ts';
import { installManifests } from '../support/commands/nodemaint.ts';
import { createWriteLog, type WriteLog } from './audit.ts';
import { PRIORITY_CLASSES, REFUSED_LABEL } from './objects.ts';
import { createReplicas } from './replicas.ts';
import { createTimeline } from './timeline.ts';
import type { Cluster } from './world.ts';

/** The user as whom the controller writes. */
export const CONTROLLER_USER = 'system:serviceaccount:nodemaint-system:nodemaint-controller';
/** A disturbance waits so long for the histories that are being judged, and is left out then. */
const PATIENCE_MS = 2_000;
const START_MS = 180_000;

/** Refuses the controller's changes of nodes that carry a label, as policies of others may. */
const REFUSAL = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'chaos-refused-nodes' },
    spec: {
      failurePolicy: 'Ignore',
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
      },
      matchConditions: [{ name: 'is-controller', expression: `request.userInfo.username == '${CONTROLLER_USER}'` }],
      validations: [{ expression: `!('${REFUSED_LABEL}' in object.metadata.?labels.orValue({}))` }],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'chaos-refused-nodes' },
    spec: { policyName: 'chaos-refused-nodes', validationActions: ['Deny'] },
  },
];

/** What judges a history beside the cluster itself. */
export interface ChaosCluster extends Cluster, AsyncDisposable {
  readonly writes: WriteLog;
}

/** Lets disturbances happen only while no history is being judged. */
function createPeace(): Pick<Cluster, 'disturb' | 'inPeace'> {
  const judging = new Set<symbol>();
  let disturbing: Promise<unknown> = Promise.resolve();
  return {
    disturb: async (action) => {
      const deadline = Date.now() + PATIENCE_MS;
      while (judging.size > 0) {
        if (Date.now() > deadline) return 'left out, for another history is being judged';
        await sleep(50);
      }
      const done = disturbing.then(action);
      disturbing = done.catch(() => undefined);
      return await done;
    },
    inPeace: async (action) => {
      const own = Symbol('judging');
      judging.add(own);
      try {
        await disturbing;
        return await action();
      } finally {
        judging.delete(own);
      }
    },
  };
}

/** Starts a control plane with the product's manifests, and the record of all that happens on it. */
export async function startChaosCluster(): Promise<ChaosCluster> {
  const signal = AbortSignal.timeout(START_MS);
  await using stack = new AsyncDisposableStack();
  const folder = await makeTestFolder('chaos');
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const writes = await createWriteLog(folder);
  const controlPlane = stack.use(await startControlPlane({ apiServerFlags: writes.flags }, signal));
  const controllerKubeconfig = await installManifests(controlPlane);
  for (const object of [...PRIORITY_CLASSES, ...REFUSAL]) {
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  }
  const access = await loadClusterAccess(controlPlane.adminKubeconfig);
  const [client, watcher] = [createKubeClient(access, 'chaos'), createKubeClient(access, 'chaos-timeline')];
  const timeline = createTimeline(watcher);
  const stopping = new AbortController();
  const watching = timeline.run(stopping.signal);
  stack.defer(async () => {
    stopping.abort();
    await watching;
    client.close();
    watcher.close();
  });
  await waitFor('the timeline is synced', timeline.synced, { timeoutMs: 10_000, signal });
  const replicas = stack.use(createReplicas(controlPlane, controllerKubeconfig));
  const owned = stack.move();
  return {
    controlPlane,
    client,
    timeline,
    replicas,
    writes,
    ...createPeace(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
