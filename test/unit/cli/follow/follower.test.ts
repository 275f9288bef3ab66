import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../src/api/pod.ts';
import { Follower } from '../../../../src/cli/follow/follower.ts';
import { NodemaintError } from '../../../../src/errors.ts';
import { createSystemClock } from '../../../../src/host/clock.ts';
import { PODS } from '../../../../src/kube/resource.ts';
import type { ObjectCache } from '../../../../src/kube/watch.ts';
import { createObjectStore, type ObjectStore } from '../../../support/stand-ins/object-store.ts';

const FORBIDDEN = 'pods is forbidden: User "u" cannot list resource "pods" in API group "" at the cluster scope';
const NEVER = new AbortController().signal;

interface Rig {
  readonly store: ObjectStore;
  readonly follower: Follower;
  readonly pods: ObjectCache<Pod>;
  /** What was said. */
  readonly notes: string[];
}

function rig(): Rig {
  const store = createObjectStore();
  const notes: string[] = [];
  const say = (text: string): void => {
    notes.push(text);
  };
  const follower = new Follower({ client: store.client, clock: createSystemClock(), say });
  return { store, follower, pods: follower.copy<Pod>({ resource: PODS }), notes };
}

function pod(name: string): Pod {
  return { metadata: { name, namespace: 'default' }, spec: {} };
}

describe('a follower', () => {
  it('a follower ends as soon as a change has brought the end', async () => {
    const { store, follower, pods } = rig();
    store.put(PODS, pod('a'));
    const seen: number[] = [];
    const look = (): 'gone' | undefined => {
      if (!follower.synced()) return undefined;
      seen.push(pods.list().length);
      if (seen.length === 1) setTimeout(() => store.remove(PODS, 'default/a'), 20);
      return pods.list().length === 0 ? 'gone' : undefined;
    };
    assert.equal(await follower.run({ look, timeoutMs: 20_000 }, NEVER), 'gone');
    assert.deepEqual([seen[0], seen.at(-1)], [1, 0]);
  });

  it('a follower prefers the end that was reached to the time that is over', async () => {
    const { follower } = rig();
    const look = (): 'end' | undefined => (follower.synced() ? 'end' : undefined);
    assert.equal(await follower.run({ look, timeoutMs: 0 }, NEVER), 'timeout', 'nothing is known yet');
    const again = rig();
    const late = (): 'end' => 'end';
    assert.equal(await again.follower.run({ look: late, timeoutMs: 0 }, NEVER), 'end');
  });

  it('a follower fails where the server denies the first list, and names the missing permission', async () => {
    const { store, follower } = rig();
    store.failWith(new NodemaintError('API_REFUSED', FORBIDDEN, { status: 403 }));
    await assert.rejects(follower.run({ look: () => undefined, timeoutMs: 20_000 }, NEVER), {
      code: 'API_REFUSED',
      message: `${FORBIDDEN}; missing permission: the verb list on pods at the cluster scope`,
    });
  });

  it('a follower tells a lost connection once, and tries again', async () => {
    const { store, follower, notes } = rig();
    store.failWith(new Error('ECONNREFUSED'));
    const look = (): 'back' | undefined => {
      if (notes.length > 0) store.failWith(undefined);
      return follower.synced() ? 'back' : undefined;
    };
    assert.equal(await follower.run({ look, timeoutMs: 20_000 }, NEVER), 'back');
    assert.deepEqual(notes, ['The connection is lost; trying again: ECONNREFUSED']);
  });
});
