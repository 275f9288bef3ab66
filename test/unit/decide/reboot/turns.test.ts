import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decideTurns, describeTurnWait, type Reboot, type RebootFacts } from '../../../../src/decide/reboot/turns.ts';

/** The reboot of the node `node`, `at` seconds old in the order of creation, with what it takes from budgets. */
function reboot(node: string, at: number, needs: Record<string, number> = {}, more: Partial<Reboot> = {}): Reboot {
  const own = { name: `shutdown-${node}-0`, node, createdAt: at * 1_000, needs: new Map(Object.entries(needs)) };
  return { ...own, begun: false, stalled: false, isMember: false, ...more };
}

/** For whom each reboot waits. */
function waits(reboots: readonly Reboot[], allowed: Record<string, number> = {}, more: Partial<RebootFacts> = {}) {
  const sight = { reboots, allowed: (key: string) => allowed[key] ?? 0, membersAway: [], maxParallel: undefined };
  const found = decideTurns({ ...sight, ...more });
  return Object.fromEntries([...found].map(([name, { nodes }]) => [name.slice(9, -2), nodes.join(' ')]));
}

const BEGUN = { begun: true };
const WEB = { 'shop/web': 1 };

describe('the turns of machines that reboot', () => {
  const cases: readonly (readonly [string, readonly Reboot[], Record<string, number>, Record<string, string>])[] = [
    ['one alone has its turn, whatever its budget allows', [reboot('a', 1, WEB)], {}, {}],
    ['all have it that no budget covers', [reboot('a', 1), reboot('b', 2), reboot('c', 3)], {}, {}],
    [
      'the oldest has it where the budget allows one',
      [reboot('c', 3, WEB), reboot('a', 1, WEB), reboot('b', 2, WEB)],
      { 'shop/web': 1 },
      { b: 'a', c: 'a b' },
    ],
    ['the oldest has it where the budget allows none', [reboot('a', 1, WEB), reboot('b', 2, WEB)], {}, { b: 'a' }],
    [
      'two have it where the budget allows two',
      [reboot('a', 1, WEB), reboot('b', 2, WEB), reboot('c', 3, WEB)],
      { 'shop/web': 2 },
      { c: 'a b' },
    ],
    [
      'one waits for a machine that is drained and not back, while the budget allows none',
      [reboot('a', 1, {}, BEGUN), reboot('b', 2, WEB)],
      {},
      { b: 'a' },
    ],
    [
      'one begins beside a machine that is not back when the budget allows it again',
      [reboot('a', 1, {}, BEGUN), reboot('b', 2, WEB)],
      { 'shop/web': 1 },
      {},
    ],
    [
      'one of another budget does not wait',
      [reboot('a', 1, WEB), reboot('b', 2, WEB), reboot('c', 3, { 'shop/db': 1 })],
      { 'shop/web': 1, 'shop/db': 1 },
      { b: 'a' },
    ],
    [
      'a younger one takes nothing from a budget that an older one waits for',
      [reboot('a', 1, { x: 1 }, BEGUN), reboot('b', 2, { x: 1, y: 1 }), reboot('c', 3, { y: 1 })],
      { x: 1, y: 1 },
      { b: 'a', c: 'a b' },
    ],
    [
      'an older one does not wait for a younger one that began beside it and takes nothing from its budget',
      [reboot('b', 2, { x: 2 }), reboot('c', 3, {}, BEGUN)],
      { x: 1 },
      {},
    ],
    [
      'an older one waits for a younger one that has begun and takes from its budget',
      [reboot('b', 2, { x: 1 }), reboot('c', 3, { x: 1 }, BEGUN)],
      { x: 1 },
      { b: 'c' },
    ],
    [
      'one that takes more than the budget ever allows begins when no other is before it',
      [reboot('a', 1, { x: 1 }, BEGUN), reboot('b', 2, { x: 3 })],
      { x: 1 },
      { b: 'a' },
    ],
    [
      'nobody waits for a machine that gets no further',
      [reboot('a', 1, { x: 1 }, { begun: true, stalled: true }), reboot('b', 2, { x: 1 }), reboot('c', 3, { x: 1 })],
      {},
      { c: 'b' },
    ],
    [
      'the name decides between two of the same second, and one without a time is the youngest',
      [reboot('b', 1, WEB), reboot('a', 1, WEB), reboot('c', Infinity, WEB)],
      { 'shop/web': 1 },
      { b: 'a', c: 'a b' },
    ],
  ];
  for (const [title, reboots, allowed, expected] of cases) {
    it(title, () => {
      assert.deepEqual(waits(reboots, allowed), expected);
      assert.deepEqual(waits(reboots.toReversed(), allowed), expected);
    });
  }

  const member = { isMember: true };
  it('members of the control plane reboot one at a time, and others beside them', () => {
    const reboots = [reboot('a', 1, {}, member), reboot('b', 2, {}, member), reboot('c', 3)];
    assert.deepEqual(waits(reboots), { b: 'a' });
  });

  it('a member waits for another one that is not at work, and not for itself', () => {
    const sight = { membersAway: ['z'] };
    assert.deepEqual(waits([reboot('a', 1, {}, member), reboot('c', 3)], {}, sight), { a: 'z' });
    assert.deepEqual(waits([reboot('z', 1, {}, member)], {}, sight), {});
  });

  it('no more reboot at once than the limit says, and those that get no further do not count', () => {
    const reboots = [reboot('a', 1, {}, BEGUN), reboot('b', 2), reboot('c', 3)];
    assert.deepEqual(waits(reboots, {}, { maxParallel: 2 }), { c: 'a b' });
    assert.deepEqual(waits(reboots, {}, { maxParallel: 1 }), { b: 'a', c: 'a' });
    const stalled = [reboot('a', 1, {}, { begun: true, stalled: true }), reboot('b', 2), reboot('c', 3)];
    assert.deepEqual(waits(stalled, {}, { maxParallel: 1 }), { c: 'b' });
  });

  it('a wait says since when, for whom and why, and is recognised again', () => {
    const wait = { since: 0, nodes: ['a'], cause: 'the PodDisruptionBudget shop/web' };
    const text = describeTurnWait(wait);
    assert.equal(
      text,
      'Waiting for its turn to reboot since 1970-01-01T00:00:00Z: a goes first, because of the PodDisruptionBudget shop/web.',
    );
    const many = describeTurnWait({ ...wait, nodes: Array.from({ length: 500 }, (_, at) => `node-${at}`) });
    assert.match(many, /node-4 and 495 more go first/);
  });
});
