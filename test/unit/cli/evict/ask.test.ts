import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { type AskResult, askPod } from '../../../../src/cli/evict/ask.ts';
import { NodemaintError } from '../../../../src/errors.ts';
import type { RequesterClient } from '../../../../src/kube/eviction/requester.ts';
import { ended, pod, request } from '../../../support/eviction/fixtures.ts';

const NAME = 'cli.nodemaintenance.x-k8s.io';
const SIGNAL = new AbortController().signal;

/** A server with one pod and one request, which applies what the requester asks of it. */
interface Server extends RequesterClient {
  readonly calls: string[];
}

function server(
  found: Pod | undefined,
  known: EvictionRequest | undefined,
  extra: Partial<RequesterClient> = {},
): Server {
  const calls: string[] = [];
  let present = known;
  return {
    calls,
    findPod: () => Promise.resolve(found),
    findRequest: () => Promise.resolve(present),
    request: () => {
      calls.push('request');
      const others = (present?.spec.requesters ?? []).map(({ name }) => name).filter((name) => name !== NAME);
      present = request(undefined, [...others, NAME]);
      return Promise.resolve(present);
    },
    withdraw: (each) => {
      calls.push('withdraw');
      const left = (each.spec.requesters ?? []).map(({ name }) => name).filter((name) => name !== NAME);
      present = request(undefined, left);
      return Promise.resolve(present);
    },
    remove: () => {
      calls.push('remove');
      present = undefined;
      return Promise.resolve(true);
    },
    ...extra,
  };
}

async function ask(requester: RequesterClient, mode: 'ask' | 'dry-run' | 'withdraw' = 'ask'): Promise<AskResult> {
  return await askPod({ requester, name: NAME, namespace: 'default' }, 'web', mode, SIGNAL);
}

describe('the request for the eviction of a pod', () => {
  const OTHERS = request(undefined, ['other.example.com']);
  /** What there is, what is asked of the server, and the kind of the answer with its words. */
  const cases: readonly [string, Pod | undefined, EvictionRequest | undefined, readonly string[], string][] = [
    ['is made', pod(), undefined, ['request'], 'done: pod/web eviction requested'],
    ['is there already', pod(), request(), ['request'], 'done: pod/web eviction already requested'],
    [
      'names other requesters',
      pod(),
      OTHERS,
      ['request'],
      'done: pod/web eviction requested; also requested by other.example.com',
    ],
    [
      'replaces a canceled one',
      pod(),
      ended('Canceled', 'No more.'),
      ['remove', 'request'],
      'done: pod/web eviction requested again; the previous request was canceled: No more.',
    ],
    ['is not made again', pod(), ended('Evicted', 'Gone.'), [], 'nothing: pod/web already evicted: Gone.'],
    ['fails without a pod', undefined, undefined, [], 'failed: pods "web" not found in namespace "default"'],
  ];
  for (const [what, found, known, calls, expected] of cases) {
    it(`the request for the eviction of a pod ${what}`, async () => {
      const requester = server(found, known);
      const { kind, message } = await ask(requester);
      assert.deepEqual([requester.calls, `${kind}: ${message}`], [calls, expected]);
    });
  }

  it('the request for the eviction of a pod is tried again a few times where it keeps changing, and then fails', async () => {
    let tries = 0;
    const request = (): Promise<undefined> => Promise.resolve(void (tries += 1));
    const { kind, message } = await ask(server(pod(), undefined, { request }));
    assert.equal(`${kind}: ${message}`, 'failed: pod "web": its EvictionRequest keeps changing; try again');
    assert.equal(tries, 5);
  });

  it('the request for the eviction of a pod ends in a dry run although the server does not delete the canceled one', async () => {
    const requester = server(pod(), ended('Canceled', 'No more.'), { remove: () => Promise.resolve(true) });
    const result = await ask(requester, 'dry-run');
    assert.equal(result.message, 'pod/web eviction requested again; the previous request was canceled: No more.');
  });

  it('the request for the eviction of a pod fails for this pod alone where the server refuses it, and for all where no server answers', async () => {
    const failing = (code: 'API_REFUSED' | 'API_UNREACHABLE'): Server =>
      server(pod(), undefined, { findPod: () => Promise.reject(new NodemaintError(code, 'no')) });
    assert.deepEqual(await ask(failing('API_REFUSED')), { kind: 'failed', message: 'no', pod: 'web' });
    await assert.rejects(ask(failing('API_UNREACHABLE')), { code: 'API_UNREACHABLE' });
  });
});

describe('a withdrawal', () => {
  const cases: readonly [string, Server, string][] = [
    [
      'of the last requester cancels the request',
      server(pod(), request()),
      'done: pod/web eviction no longer requested; no other requester is left, so it is canceled',
    ],
    [
      'leaves the request to the others',
      server(pod(), request(undefined, [NAME, 'other.example.com'])),
      'done: pod/web eviction no longer requested; still requested by other.example.com',
    ],
    [
      'does nothing where there is no request',
      server(pod(), undefined),
      `nothing: pod/web eviction is not requested by ${NAME}, and by no other requester`,
    ],
    [
      'says that a terminating pod will leave all the same',
      server(pod({ deletionTimestamp: '2026-01-01T00:00:00Z' }), request()),
      'done: pod/web eviction no longer requested; no other requester is left, so it is canceled; the pod is already terminating',
    ],
    [
      'fails where another field manager owns the entry too',
      server(pod(), request(), { withdraw: (each) => Promise.resolve(each) }),
      `failed: pod "web": the requester entry ${NAME} stays, because another field manager owns it too; see: kubectl get evreq u-1 -n default -o yaml --show-managed-fields`,
    ],
  ];
  for (const [what, requester, expected] of cases) {
    it(`a withdrawal ${what}`, async () => {
      const { kind, message } = await ask(requester, 'withdraw');
      assert.equal(`${kind}: ${message}`, expected);
    });
  }
});
