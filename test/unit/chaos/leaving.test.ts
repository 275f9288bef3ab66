import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAINTENANCE_REQUESTER } from '../../../src/api/names.ts';
import type { Write } from '../../chaos/audit.ts';
import { checkLeaving } from '../../chaos/invariants/leaving.ts';
import type { Change, Kind } from '../../chaos/timeline.ts';

const OURS = 'controller';
const SELECTED = { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }] };

/** A maintenance that drains the node `n` is deleted at 10 s, and so much later a pod is made there and requested to leave. */
function found(madeAfterMs: number): readonly string[] {
  const change = (revision: number, at: number, kind: Kind, key: string, object: object, deleted = false): Change =>
    ({ revision, at, kind, key, object, deleted }) as Change;
  const maintenance = { metadata: { name: 'm' }, spec: { stage: 'Drain', nodeSelector: SELECTED } };
  const targets = {
    nodeStatuses: [{ nodeRef: { name: 'n' }, drainTargets: [{ podType: 'Default', podPriority: 0 }] }],
  };
  const pod = { metadata: { name: 'p', namespace: 'default', uid: 'u' }, spec: { nodeName: 'n', containers: [] } };
  const request = { metadata: { name: 'u' }, spec: { requesters: [{ name: MAINTENANCE_REQUESTER }] } };
  const madeAt = 10_000 + madeAfterMs;
  const write: Write = {
    user: OURS,
    program: '',
    verb: 'create',
    resource: 'evictionrequests',
    key: 'default/u',
    revision: 5,
    at: madeAt + 20,
  };
  const changes = [
    change(1, 0, 'Node', 'n', { metadata: { name: 'n' } }),
    change(2, 1, 'NodeMaintenance', 'm', { ...maintenance, status: targets }),
    change(3, 10_000, 'NodeMaintenance', 'm', maintenance, true),
    change(4, madeAt, 'Pod', 'default/p', pod),
    change(5, madeAt + 20, 'EvictionRequest', 'default/u', request),
  ];
  return checkLeaving(changes, [write], [OURS]).map(({ what }) => what);
}

describe('the check of what a drain covers', () => {
  it('allows for a copy of the maintenance that is older than the pod, for 2.5 s', () => {
    assert.deepEqual(found(240), []);
    assert.deepEqual(found(2_400), []);
  });

  it('names a pod that is requested later than that', () => {
    assert.deepEqual(found(2_600), ['a Default pod is requested that no drain covers']);
  });
});
