import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPodRemoval } from '../../../../../src/agent/drain/self/pod-removal.ts';
import type { Pod } from '../../../../../src/api/pod.ts';
import { type PodStep } from '../../../../../src/decide/node/plan.ts';
import type { Waiting } from '../../../../../src/decide/node/waits.ts';
import { NodemaintError } from '../../../../../src/errors.ts';
import { createObjectServer } from '../../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const OWNER = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logs', uid: 'ds', controller: true };

function podOf(name: string, metadata: object = {}): Pod {
  return { metadata: { name, namespace: 'default', uid: name, ...metadata }, spec: { nodeName: 'n1' } };
}

/** Passes over pods that are all targeted; `evict` and `remove` answer for the API server. */
function open(
  pods: readonly Pod[],
  steps: { evict?: (name: string, signal: AbortSignal) => Promise<Waiting>; remove?: () => Promise<Waiting> },
) {
  const asked: string[] = [];
  const done = (pod: Pod): Promise<Waiting> =>
    Promise.resolve({ wait: 'grace-period', what: pod.metadata.name, on: 'kubelet', message: 'ends' });
  const parts = {
    client: createObjectServer().client,
    clock: createSteppingClock(),
    evictions: {
      evict: (pod: Pod, _scope: unknown, signal: AbortSignal): Promise<Waiting> => {
        asked.push(pod.metadata.name);
        return steps.evict?.(pod.metadata.name, signal) ?? done(pod);
      },
    },
    removals: { remove: (pod: Pod): Promise<Waiting> => steps.remove?.() ?? done(pod) },
  };
  const lifetime = new AbortController();
  const ender = createPodRemoval(parts, lifetime.signal);
  const planned = pods.map((pod): PodStep => {
    const isOwned = pod.metadata.ownerReferences !== undefined;
    if (isOwned) return { kind: 'delete', pod, options: {} };
    return { kind: 'evict', pod, options: {}, request: undefined, trustUntil: undefined, notAsked: undefined };
  });
  const pass = { recorded: [], mayAct: () => Promise.resolve(true), whyNotAsked: () => undefined };
  const run = (ms = 10_000): ReturnType<typeof ender.take> => ender.take(planned, pass, AbortSignal.timeout(ms));
  return { asked, run, ender, lifetime };
}

describe('a pod whose end is held up or refused', () => {
  it('the steps under way end with the drain, and with the agent', async () => {
    const ended: string[] = [];
    const evict = (name: string, signal: AbortSignal): Promise<Waiting> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          ended.push(name);
          reject(new Error('it has ended'));
        });
      });
    for (const end of ['drain', 'agent'] as const) {
      const { run, ender, lifetime } = open([podOf(end)], { evict });
      await assert.rejects(run(10));
      if (end === 'drain') ender.forget();
      else lifetime.abort();
    }
    assert.deepEqual(ended, ['drain', 'agent']);
  });

  it('a pod whose eviction a webhook holds up is asked for once, and does not keep the others', async () => {
    let release: (waiting: Waiting) => void = () => undefined;
    const held = new Promise<Waiting>((resolve) => {
      release = resolve;
    });
    const rig = open([podOf('slow'), podOf('quick')], {
      evict: (name) =>
        name === 'slow' ? held : Promise.resolve({ wait: 'grace-period', what: name, on: 'kubelet', message: 'ends' }),
    });
    const waiting = await rig.run();
    assert.match(waiting[0]?.message ?? '', /no answer of the API server yet: a webhook may hold it up/);
    assert.equal(waiting[1]?.message, 'ends');
    await rig.run();
    assert.deepEqual(rig.asked, ['slow', 'quick', 'quick'], 'the call under way outlives the pass');
    release({ wait: 'grace-period', what: 'slow', on: 'kubelet', message: 'ends' });
    await new Promise(setImmediate);
    await rig.run();
    assert.deepEqual(rig.asked.slice(3), ['slow', 'quick']);
  });

  it('a pod whose deletion is refused is named, and does not keep the others', async () => {
    const refusal = new NodemaintError('API_REFUSED', 'the API server refused DELETE of the pod: a webhook says no');
    const rig = open([podOf('logs-1', { ownerReferences: [OWNER] }), podOf('web')], {
      remove: () => Promise.reject(refusal),
    });
    const waiting = await rig.run();
    assert.deepEqual(
      waiting.map(({ message }) => message),
      [refusal.message, 'ends'],
    );
  });

  it('a pass ends where the API server is away', async () => {
    const away = new NodemaintError('API_UNREACHABLE', 'no answer');
    const rig = open([podOf('web'), podOf('other')], { evict: () => Promise.reject(away) });
    await assert.rejects(rig.run(), { code: 'API_UNREACHABLE' });
    assert.deepEqual(rig.asked, ['web']);
  });
});
