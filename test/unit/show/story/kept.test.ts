import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeMaintenance } from '../../../../src/api/node-maintenance.ts';
import { keptDocument, readKeptDocument } from '../../../../src/kube/maintenance/story-document.ts';
import { storyOfMaintenance } from '../../../../src/show/story/from-cluster.ts';
import {
  KEPT_LIMITS,
  type KeptEntry,
  type KeptState,
  type KeptStory,
  keptStateOf,
  mergedStory,
  removableStories,
} from '../../../../src/show/story/kept.ts';
import { begunStory, type ShutdownStory, type StoryPod } from '../../../../src/show/story/story.ts';
import { timelineOf } from '../../../../src/show/story/timeline.ts';
import { drainOf } from '../../../support/maintenance/objects.ts';

const START = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;

function podOf(name: string, seconds: number | undefined): StoryPod {
  const gone = seconds === undefined ? {} : { goneAt: START + seconds * 1000 };
  const waits = [{ from: START, kind: 'waiting', on: 'x', message: 'y'.repeat(150) } as const];
  return { pod: `n/${name}`, askedAt: START, waits, ...gone };
}

function storyOf(node: string, pods: readonly StoryPod[]): ShutdownStory {
  const shutdown = { maintenance: 'm', mode: 'cluster', origin: 'maintenance', reason: '', since: START, bootId: 'b' };
  return { ...begunStory(node, { ...shutdown, mode: 'cluster', origin: 'logind' }), origin: 'maintenance', pods };
}

function keptOf(...nodes: readonly ShutdownStory[]): KeptStory {
  return { maintenance: 'm', nodes, nodesLeftOut: 0 };
}

function entryOf(uid: string, daysAgo: number): KeptEntry {
  return { uid, maintenance: uid, state: 'ended', at: START - daysAgo * DAY_MS };
}

/** A maintenance in a stage, with the condition Drained of a status. */
function maintenanceIn(stage: string, drained: string | undefined, metadata: object = {}): NodeMaintenance {
  const maintenance = drainOf('m', ['one'], { stage });
  const conditions = drained === undefined ? [] : [{ type: 'Drained', status: drained }];
  const status = {
    conditions,
    stageStatuses: ['Drain', ...(stage === 'Complete' ? [stage] : [])].map((name) => ({
      name,
      startTimestamp: new Date(START).toISOString(),
    })),
  };
  return { ...maintenance, metadata: { ...maintenance.metadata, ...metadata }, status } as unknown as NodeMaintenance;
}

describe('the story of a drain as the cluster keeps it', () => {
  const states: readonly [string, NodeMaintenance, KeptState | undefined][] = [
    ['it drains', maintenanceIn('Drain', 'False'), undefined],
    ['it has not begun', maintenanceIn('Idle', undefined), undefined],
    ['its pods have left', maintenanceIn('Drain', 'True'), 'drained'],
    ['it is complete', maintenanceIn('Complete', 'True'), 'ended'],
    ['it is deleted in the middle', maintenanceIn('Drain', 'False', { deletionTimestamp: 'now' }), 'ended'],
  ];
  for (const [when, maintenance, state] of states) {
    it(`where ${when}, what is kept is ${state ?? 'nothing'}`, () => {
      assert.equal(keptStateOf(maintenance), state);
    });
  }

  it('what was kept is read again as it was', () => {
    const kept = keptOf({ ...storyOf('one', [podOf('a', 3)]), requestedBy: 'bob' }, storyOf('two', []));
    assert.deepEqual(readKeptDocument(keptDocument(kept)), kept);
  });

  it('of a very large drain the pods that took longest are kept, and the others are counted', () => {
    const pods = Array.from({ length: 500 }, (_, index) => podOf(`p-${index}`, index === 7 ? undefined : index));
    const stories = Array.from({ length: KEPT_LIMITS.nodes + 2 }, (_, index) => storyOf(`n-${index}`, pods));
    const text = keptDocument(keptOf(...stories));
    assert.ok(text.length <= KEPT_LIMITS.characters, String(text.length));
    const read = readKeptDocument(text);
    assert.equal(read?.nodes.length, KEPT_LIMITS.nodes);
    assert.equal(read.nodesLeftOut, 2);
    const [first] = read.nodes;
    assert.ok(first !== undefined && first.pods.length > 0);
    assert.equal(first.pods.length + first.podsLeftOut, 500);
    assert.ok(
      first.pods.some(({ pod }) => pod === 'n/p-7'),
      'the one that has not left',
    );
    assert.ok(
      first.pods.some(({ pod }) => pod === 'n/p-499'),
      'the slowest one',
    );
  });

  for (const text of [
    '',
    '{',
    'null',
    '[]',
    '{"maintenance":"m","nodes":[{}],"nodesLeftOut":0}',
    '"'.repeat(300_000),
  ]) {
    it(`what somebody has changed is not read: ${text.slice(0, 60)}`, () => {
      assert.equal(readKeptDocument(text), undefined);
    });
  }

  it('pods whose requests are deleted since stay in it, each once', () => {
    const older = keptOf(storyOf('one', [podOf('a', 3), podOf('b', undefined)]), storyOf('left', [podOf('c', 1)]));
    const newer = keptOf(storyOf('one', [podOf('b', 9)]));
    const { nodes } = mergedStory(newer, older);
    const [one] = nodes.filter(({ node }) => node === 'one');
    assert.deepEqual(one?.pods, [podOf('a', 3), podOf('b', 9)]);
    assert.deepEqual(nodes.map(({ node }) => node).toSorted(), ['left', 'one']);
    assert.deepEqual(mergedStory(newer, undefined), newer);
  });

  it('the oldest of too many are removed, and what is older than 30 days', () => {
    const entries = [entryOf('today', 0), entryOf('week', 7), entryOf('old', 31), entryOf('month', 29)];
    assert.deepEqual(removableStories(entries, 10, START), ['old']);
    assert.deepEqual(removableStories(entries, 2, START), ['month', 'old']);
    assert.deepEqual(removableStories([], 2, START), []);
  });

  it('a drain that was ended before its pods had left says so', () => {
    const at = new Date(START + 60_000).toISOString();
    const deleted = maintenanceIn('Drain', 'False', { deletionTimestamp: at });
    const story = storyOfMaintenance(deleted, { node: 'one', requests: [], pods: [] });
    assert.ok(story !== undefined);
    const line = timelineOf(story, START + DAY_MS);
    assert.equal(line.outcome, 'called off');
    assert.equal(line.to, START + 60_000);
    const texts = line.moments.map(({ text }) => text);
    assert.deepEqual(texts, [
      'the drain begins',
      'the drain ended before all pods had left: the maintenance is deleted',
    ]);
  });
});
