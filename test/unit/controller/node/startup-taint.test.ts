import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AGENT_STATUS_ANNOTATION, STARTUP_TAINT } from '../../../../src/api/names.ts';
import type { Node } from '../../../../src/api/pod.ts';
import { startupTaintLoop } from '../../../../src/controller/node/startup-taint.ts';
import { type Presence, presenceText } from '../../../../src/show/fleet/presence.ts';
import { createObjectServer } from '../../../support/stand-ins/object-server.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';

const NOW = Date.UTC(2026, 0, 1);
const AT = new Date(NOW).toISOString();
const PATH = '/api/v1/nodes/n';
const OURS = { key: STARTUP_TAINT, effect: 'NoSchedule' };
const OTHER = { key: 'example.com/gpu', value: 'yes', effect: 'NoExecute' };
const SIGNAL = new AbortController().signal;
const HELD: Presence = {
  version: '1',
  phase: 'watching',
  phaseSince: AT,
  lock: 'held',
  lockSince: AT,
  config: '',
  reason: '',
  doctor: 'ok',
  checks: [],
};

function nodeOf(presence: Presence | undefined, taints: readonly object[] = [OURS, OTHER], at = AT): Node {
  const annotations = presence === undefined ? {} : { [AGENT_STATUS_ANNOTATION]: presenceText(presence, at) };
  return { metadata: { name: 'n', resourceVersion: '7', annotations }, spec: { taints } } as unknown as Node;
}

async function sync(node: Node | undefined, refusal?: number): Promise<readonly unknown[]> {
  const server = createObjectServer({ [PATH]: node ?? {} });
  if (refusal !== undefined) server.refused.set(`PATCH ${PATH}`, refusal);
  const nodes = { get: () => node };
  const context = { client: server.client, clock: { now: () => NOW }, log: SILENT_LOG, nodes };
  const loop = startupTaintLoop(context as unknown as Parameters<typeof startupTaintLoop>[0]);
  assert.deepEqual(await loop.reconcile('n', SIGNAL), {});
  return server.requests.map(({ body }) => body);
}

describe('the loop over nodes with the startup taint', () => {
  it('the startup taint is taken away once the agent holds the lock, from this state of the node alone', async () => {
    const version = { metadata: { resourceVersion: '7' } };
    assert.deepEqual(await sync(nodeOf(HELD)), [{ ...version, spec: { taints: [OTHER] } }]);
    assert.deepEqual(await sync(nodeOf(HELD, [OURS])), [{ ...version, spec: { taints: null } }]);
  });

  const waits: readonly [string, Node | undefined][] = [
    ['no agent has reported', nodeOf(undefined)],
    ['the lock is missing', nodeOf({ ...HELD, lock: 'missing' })],
    ['a check fails', nodeOf({ ...HELD, doctor: 'fail' })],
    ['the agent was stopped', nodeOf({ ...HELD, phase: 'stopped' })],
    ['the report is old', nodeOf(HELD, [OURS], new Date(NOW - 86_400_000).toISOString())],
    ['the taint is another one', nodeOf(HELD, [OTHER])],
    ['the node is gone', undefined],
  ];
  for (const [why, node] of waits) {
    it(`nothing is written where ${why}`, async () => {
      assert.deepEqual(await sync(node), []);
    });
  }

  it('a node that was changed or has gone meanwhile is left to its watch, and a refusal is told', async () => {
    for (const status of [404, 409]) assert.equal((await sync(nodeOf(HELD), status)).length, 1);
    await assert.rejects(sync(nodeOf(HELD), 403), { code: 'API_REFUSED', message: /PATCH \/api\/v1\/nodes\/n/ });
  });

  it('only nodes with the taint concern it', () => {
    const all = new Map([
      ['a', nodeOf(HELD)],
      ['b', nodeOf(HELD, [OTHER])],
    ]);
    const context = { nodes: { get: (name: string) => all.get(name) } };
    const { concerns } = startupTaintLoop(context as unknown as Parameters<typeof startupTaintLoop>[0]);
    const concerned = (name: string): unknown => concerns.Node?.({ name } as never);
    assert.deepEqual(['a', 'b', 'c'].map(concerned), [['a'], [], []]);
  });
});
