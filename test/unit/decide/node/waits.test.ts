import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { EvictionOutcome } from '../../../../src/decide/eviction/api-answer.ts';
import { endingForMessage, failedWords, refusedMessage } from '../../../../src/decide/interceptor/message.ts';
import { WAIT_OF_REASON, waitOfOutcome, waitOfSaid, WAITS } from '../../../../src/decide/node/waits.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..', '..');

/** The table of docs/internals/waits.md as the rules have it. */
function table(): readonly string[] {
  return Object.entries(WAITS).map(([wait, bound]) => {
    if ('owner' in bound) return `| ${wait} | ${bound.owner} | |`;
    const end = typeof bound.end === 'number' ? `${bound.end / 1000} s` : `\`${bound.end}\``;
    return `| ${wait} | | ${end}, then ${bound.next} |`;
  });
}

describe('the waits of a drain', () => {
  for (const [wait, bound] of Object.entries(WAITS)) {
    it(`each wait has an owner or an end, and not both: ${wait}`, () => {
      assert.equal(Number('owner' in bound) + Number('end' in bound), 1);
      if ('end' in bound && typeof bound.end === 'number') assert.ok(bound.end > 0 && bound.end <= 20 * 60_000);
    });
  }

  it('each wait is one that something waits for', () => {
    const texts = globSync('src/**/*.ts', { cwd: ROOT }).map((file) => readFileSync(path.join(ROOT, file), 'utf8'));
    const used = (wait: string): number =>
      texts.reduce((sum, text) => sum + text.split(new RegExp(`(?<=wait: |\\? |: |return )'${wait}'`)).length - 1, 0);
    assert.deepEqual(
      Object.keys(WAITS).filter((wait) => used(wait) === 0),
      [],
    );
    assert.ok(Object.values(WAIT_OF_REASON).every((wait) => wait in WAITS));
  });

  it('the table of the documentation is the one of the rules', () => {
    const text = readFileSync(path.join(ROOT, 'docs', 'internals', 'waits.md'), 'utf8');
    const rows = text.split('\n').filter((line) => /^\| (?!wait )[a-z]/.test(line));
    assert.deepEqual(
      rows.map((row) => row.replaceAll(/ +/g, ' ')),
      table(),
    );
  });

  const blocked = { kind: 'blocked', retryAfterMs: 0, budgets: [], untilChange: false } as const;
  const outcomes: [EvictionOutcome, string][] = [
    [{ kind: 'accepted' }, 'grace-period'],
    [{ kind: 'promised', message: 'Migration started' }, 'denial'],
    [{ kind: 'failed', retryAfterMs: 0, message: '' }, 'api-server'],
    [{ ...blocked, byBudget: true, message: '' }, 'budget'],
    [{ ...blocked, byBudget: false, message: 'admission webhook "a" denied the request: no' }, 'denial'],
    [{ ...blocked, byBudget: false, message: 'HTTP 500' }, 'api-server'],
  ];
  for (const [outcome, wait] of outcomes) {
    it(`an eviction that is ${outcome.kind} waits for this: ${wait}`, () => {
      assert.equal(waitOfOutcome(outcome), wait);
    });
  }

  const said: [string | undefined, string, string][] = [
    [undefined, '', 'controller'],
    ['a.example.com', 'Pod web is terminating.', 'interceptor'],
    ['imperative-eviction.k8s.io', '', 'grace-period'],
    ['imperative-eviction.k8s.io', 'Pod web is terminating.', 'grace-period'],
    ['imperative-eviction.k8s.io', refusedMessage(2, failedWords('failed calling webhook "a"')), 'api-server'],
    ['imperative-eviction.k8s.io', refusedMessage(2, 'admission webhook "a" denied the request'), 'denial'],
    ['kubelet.k8s.io', 'its manifest cannot be moved', 'manifest'],
    ['kubelet.k8s.io', '', 'controller'],
    ['daemonset.apps.k8s.io', '', 'controller'],
    ['daemonset.apps.k8s.io', endingForMessage('logger', 'disk'), 'grace-period'],
  ];
  for (const [interceptor, message, wait] of said) {
    it(`a request on ${interceptor}, of which "${message}" is said, waits for this: ${wait}`, () => {
      assert.equal(waitOfSaid(interceptor, message), wait);
    });
  }
});
