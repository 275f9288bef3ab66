import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type FoundCopies,
  MAX_BEHIND_MS,
  observeReadiness,
  type Readiness,
  STEADY_MS,
} from '../../../../src/decide/leader/readiness.ts';

const CURRENT: FoundCopies = { isCurrent: true, isAnswered: true };
const BEHIND: FoundCopies = { isCurrent: false, isAnswered: true };
const AWAY: FoundCopies = { isCurrent: false, isAnswered: false };

/** Whether a replica may lead after these observations, each with its time in seconds. */
function after(...looks: readonly (readonly [number, FoundCopies])[]): Readiness {
  return looks.reduce<Readiness>((readiness, [at, look]) => observeReadiness(readiness, look, at * 1000), {
    kind: 'ready',
  });
}

/** A look every two seconds. */
function every(
  fromSec: number,
  toSec: number,
  look: (sec: number) => FoundCopies,
): readonly (readonly [number, FoundCopies])[] {
  const times: number[] = [];
  for (let at = fromSec; at <= toSec; at += 2) times.push(at);
  return times.map((at) => [at, look(at)]);
}

describe('whether a replica of the controller may lead', () => {
  it('a replica is not ready when a watch has not followed for a minute while the API server answers', () => {
    assert.equal(MAX_BEHIND_MS, 60_000);
    assert.deepEqual(after(...every(0, 58, () => BEHIND)), { kind: 'behind', since: 0 });
    assert.deepEqual(after(...every(0, 60, () => BEHIND)), { kind: 'not-ready' });
  });

  it('a restart of the API server leaves everybody ready, however long it takes', () => {
    const away = every(0, 600, () => AWAY);
    assert.deepEqual(after(...away), { kind: 'behind', since: 600_000 });
    assert.deepEqual(after(...away, ...every(602, 640, () => BEHIND)).kind, 'behind');
    assert.deepEqual(after(...away, ...every(602, 640, () => BEHIND), ...every(642, 652, () => CURRENT)).kind, 'ready');
  });

  it('a watch that is refused after each successful list is seen, though its copy is right for instants', () => {
    const flapping = every(0, 62, (sec) => (sec % 16 === 14 ? CURRENT : BEHIND));
    assert.equal(after(...flapping).kind, 'not-ready');
  });

  it('a replica that is behind and sees everything again for ten seconds leads on', () => {
    assert.equal(STEADY_MS, 10_000);
    const mended = [...every(0, 50, () => BEHIND), ...every(52, 62, () => CURRENT)];
    assert.deepEqual(after(...mended), { kind: 'ready' });
    assert.deepEqual(after(...mended, [64, BEHIND]), { kind: 'behind', since: 64_000 });
  });

  it('a replica that only now sees everything stays ready in spite of the time before', () => {
    assert.equal(after(...every(0, 58, () => BEHIND), [70, CURRENT]).kind, 'behind');
  });

  it('a replica that is not ready stays so until all watches have followed for ten seconds, also when the API server does not answer', () => {
    const notReady = every(0, 60, () => BEHIND);
    assert.deepEqual(after(...notReady, [62, AWAY]), { kind: 'not-ready' });
    assert.deepEqual(after(...notReady, [62, CURRENT], [70, CURRENT]), { kind: 'not-ready', steadySince: 62_000 });
    assert.deepEqual(after(...notReady, [62, CURRENT], [66, BEHIND], [68, CURRENT], [76, CURRENT]).kind, 'not-ready');
    assert.deepEqual(after(...notReady, [62, CURRENT], [72, CURRENT]), { kind: 'ready' });
  });
});
