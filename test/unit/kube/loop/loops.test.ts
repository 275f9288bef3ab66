import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { after, createLoops, type Loop } from '../../../../src/kube/loop/loops.ts';
import { SILENT_LOG } from '../../../support/silent-log.ts';
import { waitFor } from '../../../support/wait-for.ts';

interface Changes {
  readonly Pod: string;
  readonly Node: { readonly name: string; readonly pods: readonly string[] };
}

const SHARED = { clock: createSystemClock(), log: SILENT_LOG, mayRun: () => true };

/** A loop that notes what it has looked at, and when. */
function loopOf(name: string, concerns: Loop<Changes>['concerns'], seen: string[]): Loop<Changes> {
  const reconcile = (key: string): Promise<object> => {
    seen.push(`${name} ${key}`);
    return Promise.resolve({});
  };
  return { name, parallel: 1, reconcile, concerns };
}

describe('the loops of a program', () => {
  it('each loop looks at the keys that a change concerns, and at none for a change that it does not name', async () => {
    const [seen, loops, stop] = [[] as string[], createLoops<Changes>(), new AbortController()];
    loops.add(loopOf('pods', { Pod: (key) => [key], Node: ({ pods }) => pods }, seen), SHARED);
    loops.add(loopOf('nodes', { Node: ({ name }) => after(10, [name]) }, seen), SHARED);
    loops.tell('Pod', 'a');
    loops.tell('Node', { name: 'n', pods: ['b'] });
    assert.deepEqual(seen, [], 'nothing runs before all is told');
    const running = loops.run(stop.signal);
    await waitFor('all were looked at', () => seen.length >= 3);
    stop.abort();
    await running;
    assert.deepEqual(new Set(seen), new Set(['nodes n', 'pods a', 'pods b']));
  });
});
