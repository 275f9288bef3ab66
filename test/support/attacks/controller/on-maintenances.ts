/** What an attacker tries on NodeMaintenances and on the Lease who has the token of the controller. */
import type { Lease } from '../../../../src/api/lease.ts';
import { AGENT_LABEL, BOOT_ANNOTATION, COMPLETION_FINALIZER, DEADLINE_ANNOTATION } from '../../../../src/api/names.ts';
import { collectionPath, LEASES, NODE_MAINTENANCES, objectPath } from '../../../../src/kube/resource.ts';
import { sendForObject } from '../../../../src/kube/request.ts';
import { conditionWith } from '../../rigs/admission.ts';
import {
  allowed,
  type Attack,
  assertRefusedBy,
  type Family,
  policy,
  refused,
  type Refuser,
  sendAs,
} from '../attack.ts';
import { dry, patched, patchedStatus, type Scene, SYSTEM } from '../scene.ts';
import { OF_N3, REPLICA, STARTED } from './replica.ts';

const OF_PERSON = { name: 'of-a-person' };
const MARKED_BY_PERSON = { name: 'with-boot-id' };
const OF_N1 = { name: 'shutdown-n1-0' };
const MAINTENANCES = 'nodemaint-node-maintenances';
const METADATA = policy(MAINTENANCES, /only its own finalizer in the metadata of a NodeMaintenance/u);
const FINALIZERS = policy(MAINTENANCES, /only its own finalizer, and take it away only in the stage Complete/u);
const STAGE = policy(
  MAINTENANCES,
  /only complete a NodeMaintenance that is deleted, or a shutdown whose boot its agent has noted/u,
);
const NODES = policy(MAINTENANCES, /only the statuses of nodes that the NodeMaintenance names/u);
const CONDITIONS = policy(MAINTENANCES, /only the condition Drained of a NodeMaintenance/u);
const STAGES = policy(MAINTENANCES, /only add the present stage to the stages of a NodeMaintenance/u);
const LEASE_POLICY = 'nodemaint-controller-own-objects';
const LEASE_NAME = policy(LEASE_POLICY, /only the Lease nodemaint-controller/u);
const LEASE_METADATA = policy(LEASE_POLICY, /only its own annotations in the metadata of its Lease/u);
const LEASE_SPEC = policy(LEASE_POLICY, /only the fields of the election, for an hour at most/u);
const HOLDER = policy(LEASE_POLICY, /only under the name of its own pod/u);

const tries = (name: string, refuser: Refuser, meta: { name: string }, body: object): Attack =>
  refused('controller', name, refuser, () => patched(NODE_MAINTENANCES, meta, body));
const annotated = (annotations: object): object => ({ metadata: { annotations } });
const says = (name: string, refuser: Refuser, meta: { name: string }, status: object): Attack =>
  refused('controller', name, refuser, () => patchedStatus(NODE_MAINTENANCES, meta, status));
const absent = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' };
const ofDaemonSets = [{ podType: 'DaemonSet', podPriority: 2_147_483_647 }];

const OBJECTS: Family = {
  title: 'a thief of the token of nodemaint-controller: NodeMaintenances',
  control: allowed('controller', 'completes the shutdown of a machine that was booted, and gives it back', () =>
    patched(NODE_MAINTENANCES, OF_N3, { spec: { stage: 'Complete' }, metadata: { finalizers: ['example.com/hold'] } }),
  ),
  attacks: [
    tries('sets a deadline, so that all pods get a second', METADATA, OF_PERSON, {
      ...annotated({ [DEADLINE_ANNOTATION]: '2026-01-01T00:00:00Z' }),
    }),
    tries('says in which boot it was made, to complete it later', METADATA, OF_PERSON, {
      ...annotated({ [BOOT_ANNOTATION]: 'x' }),
    }),
    tries('takes away in which boot a shutdown was made', METADATA, OF_N3, annotated({ [BOOT_ANNOTATION]: null })),
    tries('lets it drain the last node of the control plane', METADATA, OF_PERSON, {
      ...annotated({ 'nodemaintenance.x-k8s.io/force': 'true' }),
    }),
    tries('makes it one of an agent', METADATA, OF_PERSON, { metadata: { labels: { [AGENT_LABEL]: 'n1' } } }),
    tries('gives it an owner that does not exist, so that it is collected', METADATA, OF_PERSON, {
      metadata: { ownerReferences: [absent] },
    }),
    tries('gives it a finalizer that nobody takes away', FINALIZERS, OF_PERSON, {
      metadata: { finalizers: ['evil.example.com/x'] },
    }),
    tries('takes the finalizer of another program away', FINALIZERS, OF_N3, {
      metadata: { finalizers: [COMPLETION_FINALIZER] },
    }),
    tries('takes its own finalizer away in the middle of the work', FINALIZERS, OF_N3, {
      metadata: { finalizers: ['example.com/hold'] },
    }),
    refused('controller', 'deletes one that is not finished', policy(MAINTENANCES, /may not drain node/u), () =>
      dry('DELETE', objectPath(NODE_MAINTENANCES, OF_N1)),
    ),
    tries('completes one that no agent made, though it names a boot', STAGE, MARKED_BY_PERSON, {
      spec: { stage: 'Complete' },
    }),
  ],
};

const STATUS: Family = {
  title: 'a thief of the token of nodemaint-controller: NodeMaintenances, status',
  control: allowed('controller', 'says where the drain of a node is', () =>
    patchedStatus(NODE_MAINTENANCES, OF_N1, {
      stageStatuses: [{ name: 'Cordon', startTimestamp: STARTED }],
      nodeStatuses: [{ nodeRef: { name: 'n1' }, drainTargets: ofDaemonSets }],
      conditions: [conditionWith('Drained', 'False')],
    }),
  ),
  attacks: [
    says('keeps the DaemonSet pods of another node from starting', NODES, OF_N1, {
      nodeStatuses: [{ nodeRef: { name: 'n2' }, drainTargets: ofDaemonSets }],
    }),
    says('does so by a group of nodes', NODES, OF_N1, {
      nodeGroups: [{ nodes: [{ name: 'n1' }, { name: 'n2' }], drainTargets: ofDaemonSets }],
    }),
    says('sets a condition that others may go by', CONDITIONS, OF_N1, { conditions: [conditionWith('Ready', 'True')] }),
    says('says that a stage has begun in which it is not', STAGES, OF_N1, {
      stageStatuses: [{ name: 'Drain', startTimestamp: STARTED }],
    }),
    says('moves the time when a stage began', STAGES, OF_N3, {
      stageStatuses: [{ name: 'Cordon', startTimestamp: '2036-01-01T00:00:00Z' }],
    }),
    says('forgets that a stage began', STAGES, OF_N3, { stageStatuses: [] }),
  ],
};

const LEASE = { name: 'nodemaint-controller', namespace: SYSTEM };

/** A renewal of the Lease under the token of one of its pods, with other fields. */
function renews(
  name: string,
  refuser: Refuser,
  changed: { readonly metadata?: object; readonly spec?: object },
): Attack {
  return {
    name,
    refusedBy: refuser.by,
    attempt: async (scene) => assertRefusedBy(await renew(scene, changed), refuser),
  };
}

async function renew(
  { clients }: Scene,
  { metadata, spec }: { readonly metadata?: object; readonly spec?: object } = {},
): ReturnType<typeof sendAs> {
  const path = objectPath(LEASES, LEASE);
  const known = await sendForObject<Lease>(clients.admin, { method: 'GET', path }, [], AbortSignal.timeout(9_000));
  const own = { ...known?.spec, holderIdentity: `${REPLICA}_u`, leaseDurationSeconds: 15, ...spec };
  const body = { ...known, metadata: { ...known?.metadata, ...metadata }, spec: own };
  return await sendAs(clients.replica, dry('PUT', path, { body }));
}

const ELECTION: Family = {
  title: 'a thief of the token of nodemaint-controller: the Lease of the election',
  control: {
    name: 'renews it under the name of its own pod',
    attempt: async (scene) => {
      const { status, body } = await renew(scene);
      if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
    },
  },
  attacks: [
    renews('leads in the name of another replica', HOLDER, {
      spec: { holderIdentity: 'nodemaint-controller-5f7c9-y_u' },
    }),
    renews('has the Lease for ten years', LEASE_SPEC, { spec: { leaseDurationSeconds: 315_360_000 } }),
    renews('owns the Lease by an object that does not exist', LEASE_METADATA, {
      metadata: { ownerReferences: [absent] },
    }),
    renews('gives it a finalizer', LEASE_METADATA, { metadata: { finalizers: ['evil.example.com/x'] } }),
    renews('gives it a label', LEASE_METADATA, { metadata: { labels: { evil: '' } } }),
    renews('keeps something of its own in an annotation', LEASE_METADATA, { metadata: { annotations: { evil: 'x' } } }),
    refused('controller', 'makes a Lease of another name', LEASE_NAME, () =>
      dry('POST', collectionPath(LEASES, SYSTEM), {
        body: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'evil' } },
      }),
    ),
  ],
};

export const CONTROLLER_ATTACKS: readonly Family[] = [OBJECTS, STATUS, ELECTION];
