/** What a stolen identity of node n1 tries on NodeMaintenances. */
import { AGENT_LABEL } from '../../../src/api/names.ts';
import type { KubeRequest } from '../../../src/kube/client.ts';
import { collectionPath, NODE_MAINTENANCES, objectPath } from '../../../src/kube/resource.ts';
import { byName, maintenanceOf } from '../maintenance/objects.ts';
import { allowed, type Attack, type Family, policy, refused, type Refuser, schema } from './attack.ts';
import { dry, patched, patchedStatus } from './scene.ts';

const OWN = { name: 'shutdown-n1-0' };
const OF_N2 = { name: 'shutdown-n2-0' };
const OF_PERSON = { name: 'of-a-person' };
const OF_BOTH = { name: 'rack' };

const OWN_ONLY = 'nodemaint-node-maintenances';
const ALONE = policy(OWN_ONLY, /only create, change or delete a NodeMaintenance that selects itself alone/u);
const LABEL = policy(OWN_ONLY, /that has its own name in the label nodemaintenance.x-k8s.io\/agent/u);
const ITSELF = policy(OWN_ONLY, /only write the status of itself into/u);
const SHORT = policy(OWN_ONLY, /only write short texts/u);
const DRAINED_ONLY = policy(OWN_ONLY, /only write the condition Drained/u);
const ANNOTATIONS = policy(OWN_ONLY, /only write the annotations deadline, deadline-since, boot-id and shutdown-kind/u);
const KIND = policy(OWN_ONLY, /shutdown-kind poweroff, reboot, halt, kexec or soft-reboot/u);
const REASON = policy(OWN_ONLY, /a reason of at most 1024 characters/u);
const OTHER_LABELS = policy(OWN_ONLY, /other labels, or change them/u);
const METADATA = policy(OWN_ONLY, /finalizers or ownerReferences/u);
const SELECTORS = policy(OWN_ONLY, /at most 100 labels or expressions/u);

/** A new maintenance of n1 that its agent could make, except for the given fields. */
function made(metadata: object, spec: Readonly<Record<string, unknown>> = {}): () => KubeRequest {
  const body = maintenanceOf(
    { stage: 'Drain', nodeSelector: byName('n1'), ...spec },
    { name: 'shutdown-n1-1', labels: { [AGENT_LABEL]: 'n1' }, ...metadata },
  );
  return () => dry('POST', collectionPath(NODE_MAINTENANCES), { body });
}

const making = (name: string, refuser: Refuser, metadata: object, spec?: Readonly<Record<string, unknown>>): Attack =>
  refused('n1', `makes one ${name}`, refuser, made(metadata, spec));

const terms = (...nodeSelectorTerms: readonly object[]): Readonly<Record<string, unknown>> => ({
  nodeSelector: { nodeSelectorTerms },
});
const [ofN1] = byName('n1').nodeSelectorTerms;
const [ofN2] = byName('n2').nodeSelectorTerms;
const everywhere = { matchExpressions: [{ key: 'none', operator: 'DoesNotExist' }] };
const owner = { apiVersion: 'v1', kind: 'Node', name: 'n2', uid: 'u', blockOwnerDeletion: true };
const labelled = (count: number): object => ({
  matchLabels: Object.fromEntries(Array.from({ length: count }, (_, at) => [`label-${at}`, 'x'])),
});
const planOf = (...selectors: readonly object[]): readonly object[] =>
  selectors.map((podSelector, podPriority) => ({ podType: 'Default', podPriority, podSelector }));
const large = { annotations: { 'mallory.example.com/x': 'x'.repeat(200_000) } };
const longReason = { reason: 'x'.repeat(1_025) };

const makings: readonly Attack[] = [
  making('of node n2', ALONE, {}, { nodeSelector: byName('n2') }),
  making('of n1, and of n2 in a second term', ALONE, {}, terms(ofN1 ?? {}, ofN2 ?? {})),
  making('of all nodes, by a label that none has', ALONE, {}, terms(everywhere)),
  making('of n1 with a label expression', ALONE, {}, terms({ ...ofN1, ...everywhere })),
  making(
    'of all nodes but n1',
    ALONE,
    {},
    terms({ matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['n1'] }] }),
  ),
  making(
    'of n2 and of itself, in two requirements',
    ALONE,
    {},
    terms({ matchFields: ['n1', 'n2'].map((name) => ({ key: 'metadata.name', operator: 'In', values: [name] })) }),
  ),
  making("in the name of n2's agent", LABEL, { labels: { [AGENT_LABEL]: 'n2' } }),
  making('without the label of its agent', LABEL, { labels: {} }),
  making('with a finalizer that nobody takes away', METADATA, { finalizers: ['mallory.example.com/forever'] }),
  making('that node n2 owns, so that n2 cannot be deleted', METADATA, { ownerReferences: [owner] }),
  making('with a label of its own beside that of its agent', OTHER_LABELS, { labels: { [AGENT_LABEL]: 'n1', a: 'b' } }),
  making('with an annotation of 200 kB', ANNOTATIONS, large),
  making('with a deadline annotation of 65 characters', ANNOTATIONS, {
    annotations: { 'nodemaintenance.x-k8s.io/deadline': 'x'.repeat(65) },
  }),
  making('that goes down in a way that no machine can', KIND, {
    annotations: { 'nodemaintenance.x-k8s.io/shutdown-kind': 'reboots' },
  }),
  making('with a plan of 102 labels', SELECTORS, {}, { drainPlan: planOf(labelled(34), labelled(34), labelled(34)) }),
  making(
    'with a plan of a long label',
    SELECTORS,
    {},
    { drainPlan: planOf({ matchLabels: { ['x'.repeat(400)]: 'x' } }) },
  ),
  making(
    'with a plan of 101 entries',
    schema(/drainPlan.*must have at most 100 items/u),
    {},
    { drainPlan: Array.from({ length: 101 }, (_, podPriority) => ({ podType: 'Default', podPriority })) },
  ),
  making(
    'with a reason of 5,000 characters',
    schema(/reason.*may not be more than 4096/u),
    {},
    { reason: 'x'.repeat(5_000) },
  ),
  making('with a reason of 1,025 characters', REASON, {}, longReason),
];

const changing = (name: string, refuser: Refuser, meta: { name: string }, body: object): Attack =>
  refused('n1', name, refuser, () => patched(NODE_MAINTENANCES, meta, body));
const complete = { spec: { stage: 'Complete' } };

const changes: readonly Attack[] = [
  changing('completes that of n2, which gives n2 back in mid-drain', ALONE, OF_N2, complete),
  changing('completes one that a person made for n1 alone', LABEL, OF_PERSON, complete),
  changing('makes one of a person its own by the label', LABEL, OF_PERSON, {
    metadata: { labels: { [AGENT_LABEL]: 'n1' } },
  }),
  changing('turns its own on n2', schema(/nodeSelector is immutable/u), OWN, { spec: { nodeSelector: byName('n2') } }),
  changing('gives its own a finalizer', METADATA, OWN, { metadata: { finalizers: ['mallory.example.com/forever'] } }),
  changing("gives its own the label of n2's agent", OTHER_LABELS, OWN, {
    metadata: { labels: { [AGENT_LABEL]: 'n2' } },
  }),
  changing('gives its own an owner', METADATA, OWN, { metadata: { ownerReferences: [owner] } }),
  changing('gives its own an annotation of 200 kB', ANNOTATIONS, OWN, { metadata: large }),
  changing('gives its own a reason of 1,025 characters', REASON, OWN, { spec: longReason }),
  refused('n1', 'deletes one that a person made for n1 and n2', ALONE, () =>
    dry('DELETE', objectPath(NODE_MAINTENANCES, OF_BOTH)),
  ),
  refused('n1', 'deletes one that a person made for n1 alone', LABEL, () =>
    dry('DELETE', objectPath(NODE_MAINTENANCES, OF_PERSON)),
  ),
];

const saying = (name: string, refuser: Refuser, meta: { name: string }, status: object): Attack =>
  refused('n1', name, refuser, () => patchedStatus(NODE_MAINTENANCES, meta, status));
const TIME = '2026-01-01T00:00:00Z';
const drained = { type: 'Drained', status: 'True', reason: 'X', message: '', lastTransitionTime: TIME };
const ofNode = (name: string, more: object = {}): object => ({ nodeRef: { name }, ...more });
const targets = [{ podType: 'Static', podPriority: 2_147_483_647 }];

const statuses: readonly Attack[] = [
  saying('says that that of n2 is drained, so that n2 goes down with its pods', ALONE, OF_N2, {
    conditions: [drained],
  }),
  saying('targets the static pods of n2 in one of n1 and n2', ALONE, OF_BOTH, {
    nodeStatuses: [ofNode('n2', { drainTargets: targets })],
  }),
  saying('targets the static pods of n2 in its own', ITSELF, OWN, {
    nodeStatuses: [ofNode('n2', { drainTargets: targets })],
  }),
  saying('has n2 in a group in its own', ITSELF, OWN, {
    nodeGroups: [{ drainTargets: targets, nodes: [{ name: 'n2' }] }],
  }),
  saying('has itself twice in its own', ITSELF, OWN, { nodeStatuses: [ofNode('n1'), ofNode('n1')] }),
  saying('writes 31 conditions of 32 kB', DRAINED_ONLY, OWN, {
    conditions: Array.from({ length: 31 }, (_, at) => ({ ...drained, type: `X-${at}`, message: 'x'.repeat(32_768) })),
  }),
  saying('writes the condition Drained with a message of 1,025 characters', DRAINED_ONLY, OWN, {
    conditions: [{ ...drained, message: 'x'.repeat(1_025) }],
  }),
  saying('writes a message of 1,025 characters', SHORT, OWN, {
    nodeStatuses: [ofNode('n1', { drainMessage: 'x'.repeat(1_025) })],
  }),
  saying('names a pod by 254 characters', SHORT, OWN, {
    nodeStatuses: [
      ofNode('n1', {
        podsBlocking: [{ namespace: 'x', name: 'x'.repeat(254), reason: 'x', message: '', since: TIME }],
      }),
    ],
  }),
  saying('writes drain targets of 101 labels', SELECTORS, OWN, {
    nodeStatuses: [ofNode('n1', { drainTargets: planOf(labelled(101)) })],
  }),
  saying('writes 500 drain targets', SHORT, OWN, {
    nodeStatuses: [
      ofNode('n1', {
        drainTargets: Array.from({ length: 500 }, (_, podPriority) => ({ podType: 'Default', podPriority })),
      }),
    ],
  }),
  saying('writes a time that no clock can tell', schema(/expectedFinishTime.*date-time/u), OWN, {
    nodeStatuses: [ofNode('n1', { expectedFinishTime: '+010265-01-01T00:00:00Z' })],
  }),
];

export const NODE_MAINTENANCE_ATTACKS: readonly Family[] = [
  {
    title: 'a stolen identity of node n1: NodeMaintenances, making',
    control: allowed(
      'n1',
      'makes its own of a machine that reboots',
      made({ annotations: { 'nodemaintenance.x-k8s.io/shutdown-kind': 'soft-reboot' } }),
    ),
    attacks: makings,
  },
  {
    title: 'a stolen identity of node n1: NodeMaintenances, changing and deleting',
    control: allowed('n2', 'n2 completes its own', () => patched(NODE_MAINTENANCES, OF_N2, complete)),
    attacks: changes,
  },
  {
    title: 'a stolen identity of node n1: NodeMaintenances, status',
    control: allowed('n1', 'writes what becomes of itself, also where a person asked for it', () =>
      patchedStatus(NODE_MAINTENANCES, OF_PERSON, {
        nodeStatuses: [ofNode('n1', { drainTargets: targets })],
        conditions: [drained],
      }),
    ),
    attacks: statuses,
  },
];
