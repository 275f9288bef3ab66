/** API objects as generators: what the API server would store for any user. */
import * as fc from 'fast-check';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Node, Pod, PodDisruptionBudget } from '../../../src/api/pod.ts';
import { fitting, part, schemaOf } from '../schema.ts';
import type { FuzzInput } from '../target.ts';

/** A cluster at one moment. */
export interface World {
  readonly maintenances: readonly NodeMaintenance[];
  readonly requests: readonly EvictionRequest[];
  readonly pods: readonly Pod[];
  readonly nodes: readonly Node[];
  readonly budgets: readonly PodDisruptionBudget[];
}

/** The schema of the status of a NodeMaintenance. */
export const MAINTENANCE_STATUS = part(schemaOf('nodemaintenance'), 'status');
/** The schema of the status of an EvictionRequest. */
export const REQUEST_STATUS = part(schemaOf('evictionrequest'), 'status');
const MAINTENANCE_SPEC = part(schemaOf('nodemaintenance'), 'spec');

const NAMES = ['n1', 'n2'];
const UIDS = ['u1', 'u2', 'u3', 'u4'];
const INT64 = fc.oneof(
  fc.integer({ min: 0, max: 120 }),
  fc.constantFrom(-1, 0, 1e13, 2.6e11, 2 ** 31, 2 ** 53, 2 ** 63),
);
const INT32 = fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), fc.constantFrom(0, 1000, 2_000_001_000));
const TIME = fc.oneof(
  fc.constantFrom('9999-12-31T23:59:59-12:00', '0001-01-01T00:00:00Z', '1754-08-30T22:43:41Z'),
  fc
    .integer({ min: -90_000, max: 90_000 })
    .map((sec) => new Date(Date.UTC(2026, 6, 1, 12) + sec * 1000).toISOString().replace('.000Z', 'Z')),
);
const LABELS = fc.dictionary(fc.constantFrom('app', 'tier'), fc.constantFrom('a', 'b', ''), { maxKeys: 2 });
const ANNOTATIONS = fc.record(
  {
    'kubernetes.io/config.mirror': fc.constantFrom('hash', ''),
    'nodemaintenance.x-k8s.io/deadline': TIME,
    'nodemaintenance.x-k8s.io/deadline-since': TIME,
    'nodemaintenance.x-k8s.io/interceptor-deadline': TIME,
    'nodemaintenance.x-k8s.io/force': fc.constantFrom('true', 'x'),
    'nodemaintenance.x-k8s.io/boot-id': fc.constantFrom('b', ''),
    'interceptor.evictionrequest.coordination.k8s.io/priority_a.example.com': fc.constantFrom(
      '10000/controller',
      '',
      'x/y',
      '1e9/a',
    ),
    'descheduler.alpha.kubernetes.io/request-evict-only': fc.constant(''),
    'descheduler.alpha.kubernetes.io/eviction-in-progress': fc.constant(''),
    'coordination.x-k8s.io/evict-policy': fc.constantFrom('ControllerTakeOver', 'x'),
    'kubernetes.io/pod-evict-wanted': fc.constant('true'),
  },
  { requiredKeys: [] },
);

function metadata(
  names: readonly string[],
  extra: Record<string, fc.Arbitrary<FuzzInput>> = {},
): fc.Arbitrary<FuzzInput> {
  const optional = {
    labels: LABELS,
    annotations: ANNOTATIONS,
    deletionTimestamp: TIME,
    deletionGracePeriodSeconds: INT64,
    finalizers: fc.array(fc.constant('a/b'), { maxLength: 2 }),
    generation: fc.nat(),
    ...extra,
  };
  return fc.record(
    { name: fc.constantFrom(...names), creationTimestamp: TIME, resourceVersion: fc.constant('1'), ...optional },
    { requiredKeys: ['name', 'creationTimestamp'] },
  ) as fc.Arbitrary<FuzzInput>;
}

const OWNERS = fc.constantFrom<FuzzInput>(
  [],
  [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'ds', uid: 'd', controller: true }],
  [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'r', controller: true }],
);
const READY = fc.record({
  type: fc.constantFrom('Ready', 'DisruptionTarget'),
  status: fc.constantFrom('True', 'False', 'Unknown'),
  lastTransitionTime: fc.oneof(TIME, fc.constant(null)),
});

const POD = fc
  .tuple(
    fc.constantFrom(...UIDS),
    metadata(['x'], { ownerReferences: OWNERS }),
    fc.record(
      {
        nodeName: fc.constantFrom(...NAMES, ''),
        priority: INT32,
        terminationGracePeriodSeconds: INT64,
        schedulingGates: fc.constantFrom<FuzzInput>([], [{ name: 'nodemaintenance.x-k8s.io/maintenance' }]),
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        phase: fc.constantFrom('Running', 'Failed', 'Succeeded', 'Pending'),
        conditions: fc.array(READY, { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([uid, meta, spec, status]) => ({
    metadata: { ...(meta as object), name: `pod-${uid}`, namespace: 'default', uid },
    spec,
    status,
  }));

const NODE = fc.record({
  metadata: metadata(NAMES),
  spec: fc.record({ unschedulable: fc.boolean() }, { requiredKeys: [] }),
  status: fc.record(
    { conditions: fc.array(READY, { maxLength: 2 }), nodeInfo: fc.record({ bootID: fc.constantFrom('b', '') }) },
    { requiredKeys: [] },
  ),
});

const TERMS = fc
  .array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 2 })
  .map((names) => ({
    nodeSelectorTerms: names.map((name) => ({
      matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }],
    })),
  }));
const MAINTENANCE = fc
  .tuple(
    metadata(['m1', 'm2', 'shutdown-n1-x']),
    fitting(MAINTENANCE_SPEC),
    fc.option(fitting(MAINTENANCE_STATUS), { nil: undefined }),
    fc.option(TERMS, { nil: undefined }),
  )
  .map(([meta, spec, status, terms]) => ({
    metadata: meta,
    spec: { ...(spec as object), stage: 'Drain', ...(terms === undefined ? {} : { nodeSelector: terms }) },
    ...(status === undefined ? {} : { status }),
  }));

const REQUEST = fc
  .tuple(
    fc.constantFrom(...UIDS),
    metadata(['x']),
    fc.option(fitting(REQUEST_STATUS), { nil: undefined }),
    fc.boolean(),
  )
  .map(([uid, meta, status, asked]) => ({
    metadata: { ...(meta as object), name: uid, namespace: 'default', uid: `r-${uid}` },
    spec: {
      target: { pod: { name: `pod-${uid}`, uid } },
      requesters: asked ? [{ name: 'nodemaintenance.k8s.io' }] : [],
    },
    ...(status === undefined ? {} : { status }),
  }));

const BUDGET = fc.record({
  metadata: metadata(['b1', 'b2']),
  spec: fc.record({ selector: fc.record({ matchLabels: LABELS }, { requiredKeys: [] }) }, { requiredKeys: [] }),
  status: fc.record({ disruptionsAllowed: INT32 }, { requiredKeys: [] }),
});

/** Clusters that may be. */
export const WORLDS = fc.record({
  maintenances: fc.uniqueArray(MAINTENANCE, {
    maxLength: 3,
    selector: ({ metadata: meta }) => (meta as { name: string }).name,
  }),
  requests: fc.uniqueArray(REQUEST, { maxLength: 3, selector: ({ metadata: meta }) => meta.name }),
  pods: fc.uniqueArray(POD, { maxLength: 4, selector: ({ metadata: meta }) => meta.uid }),
  nodes: fc.uniqueArray(NODE, { maxLength: 2, selector: ({ metadata: meta }) => (meta as { name: string }).name }),
  budgets: fc.array(BUDGET, { maxLength: 2 }),
}) as unknown as fc.Arbitrary<FuzzInput>;
