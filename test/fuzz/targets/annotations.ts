/** What nodes, owners of Deployments and other programs write on objects. */
import {
  AGENT_STATUS_ANNOTATION,
  EVICTION_IN_PROGRESS_ANNOTATION,
  NODE_NOTE_ANNOTATION,
} from '../../../src/api/names.ts';
import { annotatedSince } from '../../../src/decide/background-eviction/annotation.ts';
import { nodesThatStay } from '../../../src/decide/disruption-budget/staying-node.ts';
import { commonVersion, fleetNode } from '../../../src/show/fleet/node-state.ts';
import { readPresence } from '../../../src/decide/presence/presence.ts';
import { readNodeNote } from '../../../src/decide/maintenance/node-note.ts';
import { drainsOfNode } from '../../../src/decide/maintenance/maintenance.ts';
import { presenceAt } from '../../support/agent/presence.ts';
import { mutatedJson } from '../mutate.ts';
import { assertFinite, type FuzzTarget, objectIn, textTarget } from '../target.ts';

const NOW = Date.UTC(2026, 6, 1, 12);
const TIME = '2026-07-01T12:00:00Z';
const NOTE = {
  maintenances: [
    {
      name: 'm',
      uid: 'u',
      stage: 'Drain',
      reason: 'x',
      deadline: [TIME, TIME],
      drainTargets: [
        {
          podPriority: 1,
          podType: 'Static',
          podSelector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] },
        },
      ],
    },
  ],
};
const PRESENCE = { ...presenceAt(TIME), at: TIME, everySec: 3600 };
const FIELD = { 'f:metadata': { 'f:annotations': { [`f:${EVICTION_IN_PROGRESS_ANNOTATION}`]: {} } } };

/** The targets that are annotations and other words in objects. */
export const ANNOTATION_TARGETS: readonly FuzzTarget[] = [
  textTarget('node-note', mutatedJson(NOTE), (text) => {
    const note = readNodeNote(text, 'n1');
    assertFinite(note, 'note');
    if (note.kind === 'known') assertFinite(drainsOfNode(note.maintenances, 'n1'), 'drains');
  }),
  textTarget('presence', mutatedJson(PRESENCE), (text) => {
    const annotations = { [AGENT_STATUS_ANNOTATION]: text, [NODE_NOTE_ANNOTATION]: text };
    const version = readPresence(text)?.version ?? '';
    const expected = commonVersion(['0.1.0', '0.1.0', version]);
    if (expected !== '0.1.0') throw new Error(`one agent makes ${expected} the version of all`);
    assertFinite(fleetNode({ metadata: { name: 'n1', annotations }, nodeStatus: 'Ready' }, expected, NOW), 'fleet');
  }),
  textTarget('leases', mutatedJson({ renewTime: TIME, holderIdentity: 'n2', leaseDurationSeconds: 40 }), (text) => {
    const metadata = { name: 'n2', namespace: 'kube-node-lease', creationTimestamp: TIME };
    const { renewTime, ...rest } = (objectIn(text) ?? {}) as { renewTime?: unknown };
    // The API server takes texts for times only, and any of them after another server has written it.
    const spec = { ...rest, ...(typeof renewTime === 'string' ? { renewTime } : {}) };
    const lastTransitionTime = spec.renewTime ?? metadata.creationTimestamp;
    const conditions = [{ type: 'Ready', status: 'Unknown', lastTransitionTime }] as const;
    nodesThatStay([{ metadata, status: { conditions } }], new Set(['n1']), NOW);
  }),
  textTarget('managed-fields', mutatedJson([{ manager: 'a', time: TIME, fieldsV1: FIELD }]), (text) => {
    const fields = objectIn(text);
    // The lists of the API server have objects in them; what stands in fieldsV1 is the client's.
    const managedFields = (Array.isArray(fields) ? (fields as unknown[]) : []).flatMap((each) => {
      if (typeof each !== 'object' || each === null) return [];
      const { time, ...rest } = each as { time?: unknown };
      return [{ ...rest, ...(typeof time === 'string' ? { time } : {}) }];
    });
    const metadata = { name: 'p', managedFields };
    const since = annotatedSince(metadata, NOW);
    assertFinite(since, 'since');
    if (since > NOW) throw new Error('a time of a client is later than what was seen');
  }),
];
