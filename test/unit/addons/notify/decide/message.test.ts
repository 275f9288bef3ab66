import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  decideMessage,
  type MessageFacts,
  isNews,
  type MessageDecision,
  shutdownNodeOf,
} from '../../../../../src/addons/notify/decide/message.ts';
import { shutdownReportOf } from '../../../../../src/addons/notify/decide/report.ts';
import {
  boundedSent,
  MAX_ENTRIES,
  readSent,
  type Sent,
  sentText,
} from '../../../../../src/addons/notify/decide/sent.ts';
import { AGENT_LABEL, AGENT_STATUS_ANNOTATION } from '../../../../../src/api/names.ts';
import type { NodeMaintenance, NodeMaintenanceStatus } from '../../../../../src/api/node-maintenance.ts';
import { drainOf } from '../../../../support/maintenance/objects.ts';

const BEGAN = Date.parse('2026-01-01T10:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SENT: Sent = { maintenance: 'm', nodes: 'n1', reason: '', begunAt: BEGAN, kinds: ['begun'] };

function conditionOf(status: 'True' | 'False', reason: string): NodeMaintenanceStatus['conditions'] {
  return [{ type: 'Drained', status, reason, message: '', lastTransitionTime: '2026-01-01T10:00:00Z' }];
}

function maintenance(status: NodeMaintenanceStatus = {}, change: Partial<NodeMaintenance> = {}): NodeMaintenance {
  const stageStatuses = [{ name: 'Drain', startTimestamp: '2026-01-01T10:00:00Z' }] as const;
  return {
    ...drainOf('m', ['n1']),
    status: { stageStatuses, conditions: conditionOf('False', 'Draining') ?? [], ...status },
    ...change,
  };
}

const DRAINED = maintenance({ conditions: conditionOf('True', 'DrainCompleted') ?? [] });
const BLOCKED = maintenance({
  nodeStatuses: [
    {
      nodeRef: { name: 'n1' },
      podsBlocking: [
        { namespace: 'a', name: 'late', reason: 'NotEnding', message: 'x', since: '2026-01-01T10:20:00Z' },
        { namespace: 'a', name: 'first', reason: 'PodDisruptionBudget', message: 'y', since: '2026-01-01T10:10:00Z' },
      ],
    },
  ],
});

function decide(facts: Partial<MessageFacts>): MessageDecision {
  return decideMessage({
    maintenance: maintenance(),
    told: SENT,
    report: undefined,
    now: BEGAN + MINUTE,
    endedAt: undefined,
    blockedAfterMs: HOUR,
    ...facts,
  });
}

function toldBy(facts: Partial<MessageFacts>): string {
  const decision = decide(facts);
  return decision.kind === 'tell' ? `${decision.message.kind} ${decision.message.outcome}` : decision.kind;
}

describe('the messages of a drain', () => {
  it('it is told that a drain has begun, once, and not while it waits for its turn', () => {
    assert.equal(toldBy({ told: { ...SENT, kinds: [] } }), 'begun draining');
    assert.equal(toldBy({}), 'wait');
    assert.equal(isNews(maintenance({ conditions: conditionOf('False', 'Waiting') ?? [] }), BEGAN), undefined);
    assert.equal(isNews(maintenance(), BEGAN + 100 * HOUR), BEGAN, 'however long it goes on');
  });

  it('a drain that was over for more than an hour when it was first seen is no news', () => {
    assert.equal(isNews(DRAINED, BEGAN + HOUR), BEGAN);
    assert.equal(isNews(DRAINED, BEGAN + HOUR + 1), undefined);
    assert.equal(isNews({ ...DRAINED, spec: { ...DRAINED.spec, stage: 'Complete' } }, BEGAN + HOUR + 1), undefined);
  });

  it('it is told that a drain is blocked when one pod has blocked it for an hour, that pod first, once', () => {
    const now = BEGAN + 70 * MINUTE;
    assert.deepEqual(decide({ maintenance: BLOCKED, now: now - MINUTE }), { kind: 'wait', againMs: MINUTE });
    const decision = decide({ maintenance: BLOCKED, now });
    assert.ok(decision.kind === 'tell');
    assert.equal(decision.message.kind, 'blocked');
    assert.deepEqual(
      decision.message.blocking.map(({ name }) => name),
      ['first', 'late'],
    );
    assert.equal(toldBy({ maintenance: BLOCKED, now, told: { ...SENT, kinds: ['begun', 'blocked'] } }), 'wait');
  });

  it('it is told that all pods have left, and nothing after it; what is gone is forgotten', () => {
    assert.equal(toldBy({ maintenance: DRAINED }), 'done drained');
    const told: Sent = { ...SENT, kinds: ['begun', 'done'] };
    assert.equal(toldBy({ maintenance: DRAINED, told }), 'wait');
    assert.equal(toldBy({ maintenance: undefined, endedAt: BEGAN, told }), 'forget');
  });

  it('a maintenance of a person that ends with pods left is done, and was not drained', () => {
    assert.equal(toldBy({ maintenance: undefined, endedAt: BEGAN + MINUTE }), 'done ended');
  });

  it('a shutdown that ends with pods left is forced, by the word of its node, also while the maintenance is there', () => {
    const told: Sent = { ...SENT, node: 'n1' };
    for (const result of ['forced', 'undrained'] as const) {
      assert.equal(toldBy({ told, report: { result, at: BEGAN + MINUTE } }), `forced ${result}`);
      assert.equal(toldBy({ told, report: { result, at: BEGAN - 1000 } }), 'wait', 'of an earlier shutdown');
    }
    const over = { told, maintenance: undefined, endedAt: BEGAN + MINUTE };
    assert.equal(toldBy({ ...over, report: { result: 'canceled', at: BEGAN + MINUTE } }), 'done canceled');
    assert.equal(toldBy({ ...over, report: { result: 'drained', at: BEGAN + MINUTE } }), 'done drained');
  });

  it('a shutdown whose node says nothing is waited for, and then told to be unknown', () => {
    const over = { told: { ...SENT, node: 'n1' }, maintenance: undefined, endedAt: BEGAN };
    assert.deepEqual(decide({ ...over, now: BEGAN + MINUTE }), { kind: 'wait', againMs: 14 * MINUTE });
    assert.equal(toldBy({ ...over, now: BEGAN + 15 * MINUTE }), 'forced unknown');
  });

  it('what nobody takes is given up a day after the end of the maintenance', () => {
    const over = { maintenance: undefined, endedAt: BEGAN, told: { ...SENT, kinds: [] } };
    assert.equal(toldBy({ ...over, now: BEGAN + 24 * HOUR }), 'begun draining');
    assert.equal(toldBy({ ...over, now: BEGAN + 24 * HOUR + 1 }), 'forget');
  });

  it('the node of a shutdown is the only one of a maintenance that an agent made', () => {
    const one = { nodeStatuses: [{ nodeRef: { name: 'n1' } }] };
    const metadata = { name: 'm', labels: { [AGENT_LABEL]: 'n1' } };
    assert.equal(shutdownNodeOf(maintenance(one, { metadata })), 'n1');
    assert.equal(shutdownNodeOf(maintenance(one)), undefined);
    const two = { nodeStatuses: [...one.nodeStatuses, { nodeRef: { name: 'n2' } }] };
    assert.equal(shutdownNodeOf(maintenance(two, { metadata })), undefined);
  });
});

describe('what is read of others', () => {
  it('the report of a node is read, and nothing else is taken for one', () => {
    const said = (text: string): unknown =>
      shutdownReportOf({ metadata: { name: 'n', annotations: { [AGENT_STATUS_ANNOTATION]: text } } });
    const at = '2026-01-01T10:00:00Z';
    assert.deepEqual(said(JSON.stringify({ last: { result: 'forced', at } })), { result: 'forced', at: BEGAN });
    for (const text of [
      '',
      'x',
      '{}',
      '{"last":[]}',
      '{"last":{"result":"gone","at":"x"}}',
      '{"last":{"result":"forced"}}',
    ]) {
      assert.equal(said(text), undefined, text);
    }
    assert.equal(shutdownReportOf({ metadata: { name: 'n' } }), undefined);
  });

  it('an entry is read as it was written, however long the words are', () => {
    const long = boundedSent({ ...SENT, node: 'n1', nodes: 'ü\n'.repeat(900), reason: '\u0001"\\😀'.repeat(500) });
    assert.deepEqual(readSent(sentText(long)), long);
    const longest = sentText({
      ...long,
      maintenance: 'm'.repeat(253),
      node: 'n'.repeat(253),
      kinds: ['begun', 'blocked', 'forced'],
    });
    assert.ok(MAX_ENTRIES * (Buffer.byteLength(longest) + 36) < 1_048_576, 'all entries fit into one object');
    for (const text of ['', '[]', '{}', sentText({ ...SENT, nodes: 'x'.repeat(500) })])
      assert.equal(readSent(text), undefined);
  });
});
