import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LostWay } from '../../../../src/agent/static-pods/lost-way.ts';
import type { StaticPodView } from '../../../../src/agent/static-pods/view.ts';
import type { Phase } from '../../../../src/decide/shutdown/phase.ts';
import { createRecordingLog } from '../../../support/agent/recording-log.ts';
import { DRAINING } from '../../../support/agent/phase-facts.ts';
import { createSteppingClock } from '../../../support/stand-ins/stepping-clock.ts';

const SIGNAL = new AbortController().signal;
const MINUTE = 60_000;

function open(isOwn: boolean) {
  const clock = createSteppingClock();
  const log = createRecordingLog();
  const world = { heardAt: clock.now() };
  const server = new URL('https://127.0.0.1:6443');
  const heardAt = (): number => world.heardAt;
  const way = new LostWay({ server, clock, log, heardAt, isOwn: () => Promise.resolve(isOwn) });
  const parked = [{ file: 'proxy.yaml', maintenance: 'm', parkedAt: clock.now(), graceSec: 30 }];
  const view = { inPlace: [], ended: [], parked, live: undefined } as unknown as StaticPodView;
  const given = async (phase: Phase = { kind: 'watching' }): Promise<readonly string[]> => [
    ...((await way.look(phase, view, SIGNAL)) ?? []),
  ];
  return { clock, log, world, parked, given };
}

describe('the way to the API server', () => {
  it('it is put back after minutes until the API server answers, and then after twice as long', async () => {
    const { clock, log, world, parked, given } = open(true);
    assert.deepEqual(await given(), []);
    clock.pass(5 * MINUTE);
    assert.deepEqual(await given(), ['proxy.yaml']);
    clock.pass(3 * MINUTE);
    assert.deepEqual(await given(), ['proxy.yaml'], 'until it is heard');
    assert.equal(log.lines.length, 1);
    world.heardAt = clock.now();
    assert.deepEqual(await given(), [], 'its drains decide again');
    parked.splice(0, 1, { file: 'proxy.yaml', maintenance: 'm', parkedAt: clock.now(), graceSec: 30 });
    clock.pass(5 * MINUTE);
    assert.deepEqual(await given(), []);
    clock.pass(5 * MINUTE);
    assert.deepEqual(await given(), ['proxy.yaml']);
  });

  it('it stays where the machine goes down, and where the API server is elsewhere', async () => {
    for (const [isOwn, phase] of [
      [true, DRAINING],
      [false, { kind: 'watching' }],
    ] as const) {
      const { clock, given } = open(isOwn);
      clock.pass(60 * MINUTE);
      assert.deepEqual(await given(phase), []);
    }
  });
});
