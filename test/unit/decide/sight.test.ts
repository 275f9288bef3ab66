import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Look, MAX_BEHIND_MS, observeSight, type Sight, STEADY_MS } from '../../../src/decide/sight.ts';

const SEES: Look = { isCurrent: true, isAnswered: true };
const BEHIND: Look = { isCurrent: false, isAnswered: true };
const AWAY: Look = { isCurrent: false, isAnswered: false };

/** What a replica sees after these looks, each with its time in seconds. */
function after(...looks: readonly (readonly [number, Look])[]): Sight {
  return looks.reduce<Sight>((sight, [at, look]) => observeSight(sight, look, at * 1000), { kind: 'sees' });
}

/** A look every two seconds. */
function every(fromSec: number, toSec: number, look: (sec: number) => Look): readonly (readonly [number, Look])[] {
  const times: number[] = [];
  for (let at = fromSec; at <= toSec; at += 2) times.push(at);
  return times.map((at) => [at, look(at)]);
}

describe('what a replica of the controller sees', () => {
  it('a replica is blind when a watch has not followed for a minute while the API server answers', () => {
    assert.equal(MAX_BEHIND_MS, 60_000);
    assert.deepEqual(after(...every(0, 58, () => BEHIND)), { kind: 'behind', since: 0 });
    assert.deepEqual(after(...every(0, 60, () => BEHIND)), { kind: 'blind' });
  });

  it('a restart of the API server makes nobody blind, however long it takes', () => {
    const away = every(0, 600, () => AWAY);
    assert.deepEqual(after(...away), { kind: 'behind', since: 600_000 });
    assert.deepEqual(after(...away, ...every(602, 640, () => BEHIND)).kind, 'behind');
    assert.deepEqual(after(...away, ...every(602, 640, () => BEHIND), ...every(642, 652, () => SEES)).kind, 'sees');
  });

  it('a watch that is refused after each successful list is seen, though its copy is right for instants', () => {
    const flapping = every(0, 62, (sec) => (sec % 16 === 14 ? SEES : BEHIND));
    assert.equal(after(...flapping).kind, 'blind');
  });

  it('a replica that is behind and sees everything again for ten seconds leads on', () => {
    assert.equal(STEADY_MS, 10_000);
    const mended = [...every(0, 50, () => BEHIND), ...every(52, 62, () => SEES)];
    assert.deepEqual(after(...mended), { kind: 'sees' });
    assert.deepEqual(after(...mended, [64, BEHIND]), { kind: 'behind', since: 64_000 });
  });

  it('a replica that only now sees everything is not made blind by the time before', () => {
    assert.equal(after(...every(0, 58, () => BEHIND), [70, SEES]).kind, 'behind');
  });

  it('a blind replica stays so until all watches have followed for ten seconds, also when the API server does not answer', () => {
    const blind = every(0, 60, () => BEHIND);
    assert.deepEqual(after(...blind, [62, AWAY]), { kind: 'blind' });
    assert.deepEqual(after(...blind, [62, SEES], [70, SEES]), { kind: 'blind', steadySince: 62_000 });
    assert.deepEqual(after(...blind, [62, SEES], [66, BEHIND], [68, SEES], [76, SEES]).kind, 'blind');
    assert.deepEqual(after(...blind, [62, SEES], [72, SEES]), { kind: 'sees' });
  });
});
