import { AGENT_LABEL, DEADLINE_ANNOTATION } from '../../../../src/api/names.ts';
import { byName } from '../../maintenance/objects.ts';

/** The node whose identity is stolen. */
export const NODE = 'node-a';
/** Words of the refusals. */
export const NAMES = /a node may only create NodeMaintenances with the name shutdown-NODE-X/;
export const ALONE = /a node may only create, change or delete a NodeMaintenance that selects itself alone/;
export const LABEL = /that has its own name in the label/;

/** Whose it is, the name, and whether the node `by` may take it. */
export const names: [string, string, string, boolean][] = [
  ['its own shutdown', 'a', 'shutdown-a-0', true],
  ['its own notice', 'a', 'notice-a-0', true],
  ['its own, of a name with hyphens', 'a-b', 'shutdown-a-b-z', true],
  ['its own, of a name with dots', 'ip-10-0-0-1.eu.internal', 'shutdown-ip-10-0-0-1.eu.internal-7', true],
  ["another node's, whose name begins with its own", 'a', 'shutdown-a-b-z', false],
  ["another node's, whose name is the end of its own", 'a-b', 'shutdown-b-z', false],
  ["another node's", 'a', 'shutdown-b-z', false],
  ["another node's notice", 'a', 'notice-a-b-1', false],
  ['of an agent of version 0.1.0', 'a', 'shutdown-a-tm1x0z', false],
  ['one of very many', 'a', 'shutdown-a-zz', false],
  ['no suffix', 'a', 'shutdown-a', false],
  ['no suffix of a notice', 'a', 'notice-a', false],
  ['a letter for a notice', 'a', 'notice-a-x', false],
  ['what "nodemaint drain" would take', 'a', 'maintenance-b', false],
  ['the name of a node', 'a', 'b', false],
  ['anything', 'a', 'x', false],
];

/** The label of its agent. */
export const labels = { [AGENT_LABEL]: NODE };
/** The same and one more. */
export const others = { ...labels, a: 'b' };
const owner = { apiVersion: 'v1', kind: 'Node', name: NODE, uid: 'u-1' };
const manyFields = {
  matchFields: Array.from({ length: 10 }, () => byName(NODE).nodeSelectorTerms[0]?.matchFields?.[0]),
};
/** A selector of so many labels. */
export const selectorOf = (count: number): object => ({
  matchLabels: Object.fromEntries(Array.from({ length: count }, (_, at) => [`label-${at}`, 'x'])),
});
/** A plan of these selectors. */
export const planOf = (...selectors: readonly object[]): object[] =>
  selectors.map((podSelector, at) => ({ podType: 'Default', podPriority: at, podSelector }));

/** What a node may not make: metadata and spec that differ from its agent's, and the words of the refusal. */
export const makings: [string, object, object, RegExp][] = [
  ["another node's", {}, { nodeSelector: byName('node-b') }, ALONE],
  ['one of two nodes', {}, { nodeSelector: byName(NODE, 'node-b') }, ALONE],
  [
    'one of all nodes',
    {},
    { nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] }] } },
    ALONE,
  ],
  ['one with ten times its name', {}, { nodeSelector: { nodeSelectorTerms: [manyFields] } }, ALONE],
  ["one in another node's name", { labels: { [AGENT_LABEL]: 'node-b' } }, {}, LABEL],
  ['one without the label', { labels: {} }, {}, LABEL],
  ['one with another label', { labels: others }, {}, /may not give a NodeMaintenance other labels/],
  ['one with a finalizer', { finalizers: ['mallory.example.com/x'] }, {}, /finalizers or ownerReferences/],
  ['one with an owner', { ownerReferences: [owner] }, {}, /finalizers or ownerReferences/],
  ['one with another annotation', { annotations: { a: 'b' } }, {}, /only write the annotations/],
  [
    'one with a long annotation',
    { annotations: { [DEADLINE_ANNOTATION]: 'x'.repeat(65) } },
    {},
    /only write the annotations/,
  ],
  ['one with a long reason', {}, { reason: 'x'.repeat(1025) }, /a reason of at most 1024 characters/],
  [
    'one with a plan of many labels',
    {},
    { drainPlan: planOf(...Array.from({ length: 3 }, () => selectorOf(34))) },
    /at most 100 labels/,
  ],
  [
    'one with a plan of long labels',
    {},
    { drainPlan: planOf({ matchLabels: { ['x'.repeat(400)]: 'x' } }) },
    /at most 100 labels/,
  ],
];

/** What a node may not change of its own maintenance. */
export const changes: [string, object, RegExp][] = [
  ['its labels', { metadata: { labels: others } }, /may not give a NodeMaintenance other labels/],
  ['its finalizers', { metadata: { finalizers: ['mallory.example.com/x'] } }, /finalizers or ownerReferences/],
  ['its owners', { metadata: { ownerReferences: [owner] } }, /finalizers or ownerReferences/],
  ['its annotations', { metadata: { annotations: { a: 'b' } } }, /only write the annotations/],
  ['its reason to a long one', { spec: { reason: 'x'.repeat(1025) } }, /a reason of at most 1024 characters/],
];
/** What it may not write into the status of its own maintenance. */
export const statuses: [string, object, RegExp][] = [
  ['of another node', { nodeStatuses: [{ nodeRef: { name: 'node-b' } }] }, /only write the status of itself into/],
  [
    'of another node in a group',
    { nodeStatuses: [], nodeGroups: [{ nodes: [{ name: 'node-b' }] }] },
    /only write the status of itself into/,
  ],
  [
    'of itself many times',
    { nodeStatuses: [{ nodeRef: { name: NODE } }, { nodeRef: { name: NODE } }] },
    /only write the status of itself into/,
  ],
  [
    'with a long message',
    { nodeStatuses: [{ nodeRef: { name: NODE }, drainMessage: 'x'.repeat(1025) }] },
    /only write short texts/,
  ],
  [
    'with large targets',
    { nodeStatuses: [{ nodeRef: { name: NODE }, drainTargets: planOf(selectorOf(101)) }] },
    /at most 100 labels/,
  ],
  [
    'with long names of pods',
    {
      nodeStatuses: [
        {
          nodeRef: { name: NODE },
          podsBlocking: [
            { namespace: 'x', name: 'x'.repeat(254), reason: 'x', message: '', since: '2026-01-01T00:00:00Z' },
          ],
        },
      ],
    },
    /only write short texts/,
  ],
  [
    'with another condition',
    {
      conditions: [{ type: 'X', status: 'True', reason: 'X', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
    /only write the condition Drained/,
  ],
  [
    'with a long condition',
    {
      conditions: [
        {
          type: 'Drained',
          status: 'True',
          reason: 'X',
          message: 'x'.repeat(1025),
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    },
    /only write the condition Drained/,
  ],
];
