import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PodSteps } from '../../../../../src/agent/drain/self/pod-steps.ts';
import type { Pod } from '../../../../../src/api/pod.ts';
import { DEFAULT_EVICTION_SETTINGS } from '../../../../../src/decide/eviction/settings.ts';
import type { PodStep } from '../../../../../src/decide/node/plan.ts';
import { NodemaintError } from '../../../../../src/errors.ts';
import type { KubeClient, KubeResponse } from '../../../../../src/kube/client.ts';
import { SILENT_LOG } from '../../../../support/silent-log.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const OWNER = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'logs', uid: 'ds', controller: true };
const ENTRY = { podType: 'DaemonSet', podPriority: 0 } as const;
const DONE: KubeResponse = { status: 201, headers: {}, body: {} };

function podOf(name: string, metadata: object = {}): Pod {
  return { metadata: { name, namespace: 'default', uid: name, ...metadata }, spec: { nodeName: 'n1' } };
}

/** Passes over pods that are all targeted, with this API server; a pod is evicted anew in each pass. */
function open(pods: readonly Pod[], answer: (name: string, signal: AbortSignal) => Promise<KubeResponse>) {
  const asked: string[] = [];
  const send: KubeClient['send'] = ({ path }, signal) => {
    const name = path.split('/')[6] ?? '';
    asked.push(name);
    return answer(name, signal);
  };
  const client = { send } as unknown as KubeClient;
  const clock = createSteppingClock();
  const dependencies = { client, clock, log: SILENT_LOG, nodeName: 'n1', onChange: () => undefined };
  const lifetime = new AbortController();
  const steps = new PodSteps(dependencies, () => DEFAULT_EVICTION_SETTINGS, lifetime.signal);
  const planned = pods.map((pod): PodStep => {
    const isOwned = pod.metadata.ownerReferences !== undefined;
    if (isOwned) return { kind: 'delete', pod, options: {} };
    return { kind: 'evict', pod, options: {}, request: undefined, trustUntil: undefined, notAsked: undefined };
  });
  const recorded = [{ maintenance: 'm', reason: '', drainTargets: [ENTRY] }];
  const scope = { recorded, mayAct: () => Promise.resolve(true), whyNotAsked: undefined };
  const run = (ms = 10_000): ReturnType<typeof steps.take> => {
    clock.pass(60_000);
    return steps.take(planned, scope, AbortSignal.timeout(ms));
  };
  return { asked, run, steps, lifetime };
}

describe('a pod whose end is held up or refused', () => {
  it('the steps under way end with the drain, and with the agent', async () => {
    const ended: string[] = [];
    const hang = (name: string, signal: AbortSignal): Promise<KubeResponse> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          ended.push(name);
          reject(new Error('it has ended'));
        });
      });
    for (const end of ['drain', 'agent'] as const) {
      const { run, steps, lifetime } = open([podOf(end)], hang);
      await assert.rejects(run(10));
      if (end === 'drain') steps.forget();
      else lifetime.abort();
    }
    assert.deepEqual(ended, ['drain', 'agent']);
  });

  it('a pod whose eviction a webhook holds up is asked for once, and does not keep the others', async () => {
    let release: (response: KubeResponse) => void = () => undefined;
    const held = new Promise<KubeResponse>((resolve) => {
      release = resolve;
    });
    const rig = open([podOf('slow'), podOf('quick')], (name) => (name === 'slow' ? held : Promise.resolve(DONE)));
    const waiting = await rig.run();
    assert.match(waiting[0]?.message ?? '', /no answer of the API server yet: a webhook may hold it up/);
    assert.equal(waiting[1]?.message, 'Pod quick is terminating.');
    await rig.run();
    assert.deepEqual(rig.asked, ['slow', 'quick', 'quick'], 'the call under way outlives the pass');
    release(DONE);
    await new Promise(setImmediate);
    await rig.run();
    assert.deepEqual(rig.asked.slice(3), ['slow', 'quick']);
  });

  it('a pod whose deletion is refused is named, and does not keep the others', async () => {
    const rig = open([podOf('logs-1', { ownerReferences: [OWNER] }), podOf('web')], (name) =>
      Promise.resolve(name === 'web' ? DONE : { status: 403, headers: {}, body: { message: 'a webhook says no' } }),
    );
    const [refused, other] = await rig.run();
    assert.match(refused?.message ?? '', /a webhook says no/);
    assert.deepEqual([refused?.on, other?.message], ['API server', 'Pod web is terminating.']);
  });

  it('a pass ends where the API server is away', async () => {
    const away = new NodemaintError('API_UNREACHABLE', 'no answer');
    const rig = open([podOf('web'), podOf('other')], () => Promise.reject(away));
    await assert.rejects(rig.run(), { code: 'API_UNREACHABLE' });
    assert.deepEqual(rig.asked, ['web']);
  });
});
