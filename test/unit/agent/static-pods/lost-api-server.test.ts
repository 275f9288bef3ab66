import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LostApiServer } from '../../../../src/agent/static-pods/lost-api-server.ts';
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
  const ownNode = { observe: () => Promise.resolve({ kind: 'unknown' as const }) };
  const asked = { server: () => server, ownNode, isOwn: () => Promise.resolve(isOwn) };
  const way = new LostApiServer({ ...asked, clock, log, heardAt });
  const parked = [{ file: 'proxy.yaml', maintenance: 'm', parkedAt: clock.now(), graceSec: 30 }];
  const view = { inPlace: [], ended: [], parked, live: undefined } as unknown as StaticPodView;
  const given = async (phase: Phase = { kind: 'watching' }): Promise<readonly string[]> => [
    ...((await way.look(phase, view, SIGNAL)) ?? []),
  ];
  return { clock, log, world, parked, given };
}

describe('the way to the API server', () => {
  it('it is put back after minutes until the API server answers, and again after minutes', async () => {
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
    clock.pass(4 * MINUTE);
    assert.deepEqual(await given(), []);
    clock.pass(MINUTE);
    assert.deepEqual(await given(), ['proxy.yaml']);
  });

  it('what carries it is known while the Node cannot be read, once it was', async () => {
    let addresses: readonly { address: string }[] | undefined;
    const ages: number[] = [];
    const observe = (ageMs: number) => {
      ages.push(ageMs);
      if (addresses === undefined) return Promise.resolve({ kind: 'unknown' as const });
      return Promise.resolve({ kind: 'present' as const, node: { metadata: { name: 'n' }, status: { addresses } } });
    };
    const server = new URL('https://10.0.0.7:6443');
    const [clock, log] = [createSteppingClock(), createRecordingLog()];
    const way = new LostApiServer({ server: () => server, ownNode: { observe }, clock, log, heardAt: () => undefined });
    const [api, web] = [{ file: 'a', component: 'kube-apiserver' }, { file: 'w' }];
    const view = { inPlace: [web], ended: [], parked: [api], live: undefined } as unknown as StaticPodView;
    const files = async (): Promise<readonly string[]> => (await way.carriers(view, SIGNAL)).map(({ file }) => file);
    assert.deepEqual(await files(), []);
    addresses = [{ address: '10.0.0.7' }];
    assert.deepEqual(await files(), ['a']);
    addresses = undefined;
    assert.deepEqual(await files(), ['a']);
    addresses = [];
    assert.deepEqual(await files(), [], 'the address is of another machine');
    assert.deepEqual(ages, [15_000, 15_000, 600_000, 600_000], 'an unknown Node is read anew soon');
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
