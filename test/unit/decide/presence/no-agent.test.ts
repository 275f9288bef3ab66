import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EvictionRequest } from '../../../../src/api/eviction-request.ts';
import { KUBELET_INTERCEPTOR, MIRROR_ANNOTATION } from '../../../../src/api/names.ts';
import type { Pod } from '../../../../src/api/pod.ts';
import { whyNobodyEnds } from '../../../../src/decide/presence/no-agent.ts';

const NOW = Date.parse('2026-01-01T01:00:00Z');
const SINCE = '2026-01-01T00:59:00Z';
const NODE = { metadata: { name: 'one' } };

const ETCD: Pod = {
  metadata: { name: 'etcd', namespace: 'n', uid: 'e', annotations: { [MIRROR_ANNOTATION]: 'hash' } },
  spec: { nodeName: 'one' },
};

/** A request for it on which somebody has written this as its interceptor. */
function requestWith(entry: object): EvictionRequest {
  return {
    metadata: { name: 'e', namespace: 'n' },
    spec: { target: { pod: { name: 'etcd', uid: 'e' } } },
    status: { activeInterceptors: [KUBELET_INTERCEPTOR], interceptors: [{ name: KUBELET_INTERCEPTOR, ...entry }] },
  };
}

describe('that nobody ends a static pod', () => {
  const why = (entry: object | undefined, node: typeof NODE | undefined = NODE): string | undefined => {
    const request = entry === undefined ? undefined : requestWith(entry);
    return whyNobodyEnds(ETCD, { node, request, since: SINCE }, NOW)?.reason;
  };

  it('is so without a request, and with one that nobody has answered', () => {
    assert.equal(why(undefined), 'NoAgent');
    assert.equal(why({}), 'NoAgent');
  });

  it('is not so where somebody answers although no agent reports, until it falls silent', () => {
    assert.equal(why({ heartbeatTime: '2026-01-01T00:58:00Z' }), undefined);
    assert.equal(why({ heartbeatTime: '2026-01-01T00:40:00Z' }), 'NoAgent');
    assert.equal(why({ completionTime: '2026-01-01T00:40:00Z' }), undefined);
  });

  it('is not claimed of a node that is not known, nor of a pod that ends', () => {
    assert.equal(whyNobodyEnds(ETCD, { node: undefined, request: undefined, since: SINCE }, NOW), undefined);
    const ending = { ...ETCD, metadata: { ...ETCD.metadata, deletionTimestamp: SINCE } };
    assert.equal(whyNobodyEnds(ending, { node: NODE, request: undefined, since: SINCE }, NOW), undefined);
  });
});
