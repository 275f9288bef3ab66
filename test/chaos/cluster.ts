import { rm } from 'node:fs/promises';
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
import type { Cluster, Disturbance } from './world.ts';

/** The user as whom the controller writes. */
export const CONTROLLER_USER = 'system:serviceaccount:nodemaint-system:nodemaint-controller';

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

/** Keeps disturbances and judgements apart: a disturbance waits for those that are under way, and new ones wait for it. */
function createPeace(): Pick<Cluster, 'disturb' | 'inPeace' | 'disturbedAt' | 'disturbances'> {
  const judging = new Set<Promise<unknown>>();
  let disturbing: Promise<unknown> = Promise.resolve();
  let disturbedAt = Date.now();
  const disturbances: Disturbance[] = [];
  return {
    disturbances,
    disturb: async (what, action) => {
      const run = async (): Promise<string> => {
        await Promise.allSettled(judging);
        const begun = Date.now();
        disturbedAt = Infinity;
        const outcome = await action().catch((error: unknown) => `failed: ${String(error)}`);
        disturbances.push({ at: begun, what: `${what} → ${outcome}` });
        // The watches of the product pause for up to three times as long as the API server was away.
        disturbedAt = Date.now() + 3 * (Date.now() - begun);
        return outcome;
      };
      const done = disturbing.then(run);
      disturbing = done.catch(() => undefined);
      return await done;
    },
    inPeace: async (action) => {
      for (let last: unknown; last !== disturbing; ) {
        last = disturbing;
        await disturbing;
      }
      const running = action();
      judging.add(running);
      try {
        return await running;
      } finally {
        judging.delete(running);
      }
    },
    disturbedAt: () => disturbedAt,
  };
}

/** Starts a control plane with the product's manifests, and the record of all that happens on it. */
export async function startChaosCluster(): Promise<ChaosCluster> {
  // The API server is started again with it in mid-history: it must not end with the time for the start.
  const { signal } = new AbortController();
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
  const replicas = stack.use(await createReplicas(controlPlane, controllerKubeconfig));
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
