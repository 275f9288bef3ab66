import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CORDONED_ANNOTATION, MARKED_ANNOTATION } from '../../../../src/api/names.ts';
import type { Node } from '../../../../src/api/pod.ts';
import { decideCordon } from '../../../../src/decide/maintenance/cordon.ts';
import {
  decideMarks,
  hasDrainMarks,
  MARK_NAMES,
  type MarkIntent,
  type MarkName,
  MARKS,
} from '../../../../src/decide/node-mark/marks.ts';

type Texts = Record<string, string>;

function nodeOf(labels: Texts = {}, annotations: Texts = {}, unschedulable = false): Node {
  return { metadata: { name: 'a', labels, annotations }, spec: unschedulable ? { unschedulable } : {} };
}

/** The node after a merge patch. */
function patched(node: Node, patch: ReturnType<typeof decideMarks>): Node {
  const merge = (old: Readonly<Texts> = {}, change: Readonly<Record<string, string | null>> = {}): Texts => {
    const entries = Object.entries({ ...old, ...change });
    return Object.fromEntries(entries.flatMap(([key, value]) => (value === null ? [] : [[key, value]])));
  };
  const { labels, annotations } = node.metadata;
  return {
    ...node,
    metadata: {
      ...node.metadata,
      labels: merge(labels, patch?.labels),
      annotations: merge(annotations, patch?.annotations),
    },
  };
}

const DURING: MarkIntent = { enabled: MARK_NAMES, isUnderMaintenance: true, isDraining: true };
const CORDON: MarkIntent = { ...DURING, isDraining: false };
const AFTER: MarkIntent = { enabled: MARK_NAMES, isUnderMaintenance: false, isDraining: false };
const NONE: MarkIntent = { ...DURING, enabled: [] };

function withMark(name: MarkName, value: string): Node {
  const { kind, key } = MARKS[name];
  return kind === 'labels' ? nodeOf({ [key]: value }) : nodeOf({}, { [key]: value });
}

describe('the marks of a node for other programs', () => {
  it('all of them are set where they are absent, and given back', () => {
    const during = patched(
      nodeOf({ zone: 'z' }, { other: 'o' }),
      decideMarks(nodeOf({ zone: 'z' }, { other: 'o' }), DURING),
    );
    assert.deepEqual(during.metadata.labels, { zone: 'z', [MARKS['load-balancers'].key]: 'nodemaint' });
    assert.deepEqual(during.metadata.annotations, {
      other: 'o',
      [MARKS['cluster-autoscaler'].key]: 'true',
      [MARKS.karpenter.key]: 'true',
      [MARKED_ANNOTATION]: 'load-balancers,cluster-autoscaler,karpenter',
    });
    assert.equal(decideMarks(during, DURING), undefined, 'nothing is left to do');
    assert.deepEqual(patched(during, decideMarks(during, AFTER)), nodeOf({ zone: 'z' }, { other: 'o' }));
    assert.deepEqual(patched(during, decideMarks(during, NONE)), nodeOf({ zone: 'z' }, { other: 'o' }));
  });

  it('nothing is written that was not opted for', () => {
    assert.equal(decideMarks(nodeOf(), NONE), undefined);
    assert.equal(decideMarks(nodeOf(), AFTER), undefined);
  });

  it('a node that is only cordoned still serves its load balancers', () => {
    const cordoned = patched(nodeOf(), decideMarks(nodeOf(), CORDON));
    assert.deepEqual(cordoned.metadata.labels, {});
    assert.equal(cordoned.metadata.annotations?.[MARKED_ANNOTATION], 'cluster-autoscaler,karpenter');
    assert.equal(hasDrainMarks(cordoned, MARK_NAMES), false);
    assert.equal(hasDrainMarks(cordoned, ['karpenter']), true);
    assert.equal(hasDrainMarks(patched(cordoned, decideMarks(cordoned, DURING)), MARK_NAMES), true);
  });

  // Ours and theirs: what somebody else has set before, in the middle or after is never taken away.
  for (const name of MARK_NAMES) {
    const { kind, key, value } = MARKS[name];
    const of = (node: Node): string | undefined => node.metadata[kind]?.[key];
    for (const theirs of ['theirs', value, '']) {
      it(`${name}: ${JSON.stringify(theirs)} that somebody else has set before stays`, () => {
        const before = withMark(name, theirs);
        const during = patched(before, decideMarks(before, DURING));
        assert.equal(of(during), theirs);
        assert.equal(of(patched(during, decideMarks(during, AFTER))), theirs);
      });
    }

    it(`${name}: another value in the middle is somebody else's`, () => {
      const ours = patched(nodeOf(), decideMarks(nodeOf(), DURING));
      const changed = patched(ours, { [kind]: { [key]: 'theirs' } });
      const during = patched(changed, decideMarks(changed, DURING));
      assert.equal(of(during), 'theirs');
      assert.equal(of(patched(during, decideMarks(during, AFTER))), 'theirs');
    });

    it(`${name}: one that somebody takes away in the middle comes back, as a cordon does`, () => {
      const ours = patched(nodeOf(), decideMarks(nodeOf(), DURING));
      const without = patched(ours, { [kind]: { [key]: null } });
      const again = patched(without, decideMarks(without, DURING));
      assert.deepEqual(again, ours);
      assert.deepEqual(patched(without, decideMarks(without, AFTER)), nodeOf(), 'and leaves no trace afterwards');
    });

    for (const other of MARK_NAMES.filter((each) => each !== name)) {
      it(`${name} of ours goes and ${other} of theirs stays`, () => {
        const before = withMark(other, 'theirs');
        const during = patched(before, decideMarks(before, DURING));
        assert.equal(of(during), value);
        assert.deepEqual(patched(during, decideMarks(during, AFTER)), before);
      });
    }

    it(`${name} of ours goes and a cordon of theirs stays, and the other way around`, () => {
      const theirs = nodeOf({}, {}, true);
      const during = patched(theirs, decideMarks(theirs, DURING));
      assert.equal(decideCordon(during, []), undefined);
      assert.deepEqual(patched(during, decideMarks(during, AFTER)), theirs);
      const cordoned = nodeOf({}, { [CORDONED_ANNOTATION]: 'm' }, true);
      const both = patched(cordoned, decideMarks(withMark(name, 'theirs'), AFTER));
      assert.deepEqual(both, cordoned);
    });
  }

  it('names in the annotation that nobody knows are not kept', () => {
    const strange = nodeOf({}, { [MARKED_ANNOTATION]: 'a,b,karpenter' });
    assert.deepEqual(decideMarks(strange, AFTER), { annotations: { [MARKED_ANNOTATION]: null } });
  });
});
