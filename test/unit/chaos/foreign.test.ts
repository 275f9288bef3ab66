import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAINTENANCE_GATE } from '../../../src/api/names.ts';
import type { Write } from '../../chaos/audit.ts';
import { checkForeign } from '../../chaos/invariants/foreign.ts';
import type { Change } from '../../chaos/timeline.ts';

const OURS = 'controller';
const SCHEDULER = 'scheduler';

function podChange(revision: number, spec: object): Change {
  const object = { metadata: { name: 'a', namespace: 'default', uid: 'u' }, spec: { containers: [], ...spec } };
  return { revision, at: revision, kind: 'Pod', key: 'default/a', object, deleted: false };
}

function write(user: string, resource: string, revision?: number): Write {
  return { user, program: '', verb: 'patch', resource, key: 'default/a', revision, at: 0 };
}

/** What the check says when the product was answered the revision in which the pod has become `spec`. */
function found(spec: object, others: readonly Write[], before: object = {}): readonly string[] {
  const changes = [podChange(1, before), podChange(2, spec)];
  return checkForeign(changes, [...others, write(OURS, 'pods', 2)], [OURS]).map(({ what }) => what);
}

const CHANGED = ['spec of a Pod that the product does not own is changed'];

describe('the check of what is not the product', () => {
  it('names the product as the author of a change of the spec of a pod', () => {
    assert.deepEqual(found({ hostname: 'b' }, [write(SCHEDULER, 'pods/binding')]), CHANGED);
    assert.deepEqual(found({ nodeName: 'n' }, []), CHANGED);
  });

  it('names another program as the author of its binding, which is answered without a revision', () => {
    assert.deepEqual(found({ nodeName: 'n' }, [write(SCHEDULER, 'pods/binding')]), []);
    const gated = { schedulingGates: [{ name: MAINTENANCE_GATE }] };
    assert.deepEqual(found({}, [write(SCHEDULER, 'pods/binding')], gated), []);
  });

  it('names the product as the author of its own binding', () => {
    assert.deepEqual(found({ nodeName: 'n' }, [write(OURS, 'pods/binding')]), CHANGED);
  });
});
