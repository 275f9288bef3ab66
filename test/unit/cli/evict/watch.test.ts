import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import { type EvictWatchResult, watchEvictions } from '../../../../src/cli/evict/watch.ts';
import type { RequesterClient } from '../../../../src/kube/eviction/requester.ts';
import { EVICTION_REQUESTS, PODS } from '../../../../src/kube/resource.ts';
import { A, at, ended, MINUTE, pod, request, T0, underWay } from '../../../support/eviction/fixtures.ts';
import { createObjectStore, type ObjectStore } from '../../../support/stand-ins/object-store.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { recordTerminal, type RecordedTerminal } from '../../../support/stand-ins/recorded-terminal.ts';

const NAME = 'cli.nodemaintenance.x-k8s.io';

interface Run {
  readonly store: ObjectStore;
  readonly recorded: RecordedTerminal;
  /** What the requester was asked to do with requests. */
  readonly cleaned: string[];
  readonly result: Promise<EvictWatchResult>;
}

function start(options: { readonly removeFails?: Error } = {}): Run {
  const store = createObjectStore();
  store.put(PODS, pod());
  store.put(EVICTION_REQUESTS, request());
  const recorded = recordTerminal('pipe', () => T0);
  const cleaned: string[] = [];
  const requester: Pick<RequesterClient, 'remove'> = {
    remove: (each: EvictionRequest) => {
      cleaned.push(`remove ${each.metadata.name}`);
      return options.removeFails === undefined ? Promise.resolve(true) : Promise.reject(options.removeFails);
    },
  };
  const context = {
    client: store.client,
    requester: requester as RequesterClient,
    name: NAME,
    namespace: 'default',
    isSilent: false,
    terminal: recorded.terminal,
  };
  const targets = [{ name: 'web', uid: 'u-1' }];
  const result = watchEvictions(targets, context, 20_000);
  return { store, recorded, cleaned, result };
}

/** Changes something once the watch has shown what was there before. */
async function onceShown({ recorded }: Run, change: () => void): Promise<void> {
  await waitFor('the request is shown', () => recorded.output().includes('pod/web requested: No controller'));
  change();
}

const EVICTED = ended('Evicted', 'Gone.');

describe('the watch of evictions', () => {
  it('each change of what a pod waits for is a line, on a terminal too, and a heartbeat is none', async () => {
    const run = start();
    const now = Date.now();
    const beating = (ms: number): EvictionRequest => underWay({ heartbeatTime: at(now - T0 + ms) });
    const lines = ['pod/web requested: No controller has taken it up; is nodemaint controller running?'];
    const changes: readonly [() => void, string?][] = [
      [() => run.store.put(EVICTION_REQUESTS, beating(-MINUTE)), `pod/web interceptor ${A} (2 of 3): Half done.`],
      [() => run.store.put(EVICTION_REQUESTS, beating(0))],
      [() => run.store.put(PODS, pod({ deletionTimestamp: at(now - T0) })), 'pod/web terminating'],
      [() => run.store.put(EVICTION_REQUESTS, EVICTED), 'pod/web evicted: Gone.'],
    ];
    const shown = (): readonly string[] =>
      run.recorded.output().replaceAll('2026-11-21T12:00:00Z ', '').trim().split('\n');
    await onceShown(run, () => undefined);
    for (const [change, line] of changes) {
      change();
      if (line === undefined) continue;
      lines.push(line);
      await waitFor(line, () => shown().includes(line));
    }
    assert.equal((await run.result).ending, 'over');
    assert.deepEqual(shown(), lines);
  });

  it('the watch warns where the finished request cannot be removed, and ends all the same', async () => {
    const run = start({ removeFails: new Error('forbidden') });
    await onceShown(run, () => run.store.put(EVICTION_REQUESTS, EVICTED));
    assert.equal((await run.result).ending, 'over');
    const warning = 'warning: the finished EvictionRequest of pod "web" is left to the controller: forbidden\n';
    assert.equal(run.recorded.errors(), warning);
  });

  it('the watch waits a moment for the controller to confirm a pod that is gone', async () => {
    const run = start();
    const startedAt = performance.now();
    await onceShown(run, () => run.store.remove(PODS, 'default/web'));
    const { ending, progress } = await run.result;
    assert.ok(performance.now() - startedAt > 5_000);
    assert.deepEqual([ending, progress.get('web')?.state, run.cleaned], ['over', 'gone', []]);
  });
});
