import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import type { KubeletFacts } from '../../../../src/decide/machine/kubelet-config.ts';
import { healthEndpointOf, isKubeletUp } from '../../../../src/host/kubelet/health.ts';

describe("a kubelet's /healthz", () => {
  for (const [address, expected] of [
    ['127.0.0.1', 'http://127.0.0.1:10248/healthz'],
    ['127.9.9.9', 'http://127.9.9.9:10248/healthz'],
    ['0.0.0.0', 'http://127.0.0.1:10248/healthz'],
    ['::', 'http://[::1]:10248/healthz'],
    ['169.254.169.254', 'elsewhere'],
    ['192.0.2.7', 'elsewhere'],
    ['127.example.com', 'elsewhere'],
    ['localhost@192.0.2.7', 'elsewhere'],
  ] as const) {
    it(`a kubelet's /healthz is ${expected === 'elsewhere' ? 'not asked for' : 'asked for'} at ${address}`, async () => {
      const kubelet = { healthzPort: 10_248, healthzBindAddress: address };
      const place = await healthEndpointOf(kubelet, new AbortController().signal);
      assert.equal(place.kind === 'url' ? place.url : place.kind, expected);
    });
  }
});

/** A server that answers with this status, and what its URL is while it lives. */
async function withServer<T>(status: number, use: (url: string, port: number) => Promise<T>): Promise<T> {
  const server = createServer((_request, response) => response.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    return await use(`http://127.0.0.1:${port}/healthz`, port);
  } finally {
    server.close();
  }
}

function kubelet(healthzPort: number, healthzBindAddress = '127.0.0.1'): () => Promise<KubeletFacts> {
  return () => Promise.resolve({ healthzPort, healthzBindAddress } as KubeletFacts);
}

describe('whether the kubelet is up', () => {
  const { signal } = new AbortController();
  const none = (): Promise<undefined> => Promise.resolve(undefined);

  it('the kubelet is up where its endpoint answers 200, and at no other answer', async () => {
    for (const [status, expected] of [
      [200, true],
      [500, false],
      [404, false],
    ] as const) {
      assert.equal(await withServer(status, (url) => isKubeletUp(url, none, signal)), expected, String(status));
      assert.equal(await withServer(status, (_, port) => isKubeletUp(undefined, kubelet(port), signal)), expected);
    }
  });

  it('the kubelet is down where nobody listens', async () => {
    const port = await withServer(200, (_, known) => Promise.resolve(known));
    assert.equal(await isKubeletUp(`http://127.0.0.1:${port}/healthz`, none, signal), false);
  });

  it('the kubelet counts as up without an endpoint, and is never asked for on another machine', async () => {
    assert.equal(await isKubeletUp('', none, signal), true);
    assert.equal(await isKubeletUp(undefined, kubelet(0), signal), true);
    assert.equal(await isKubeletUp(undefined, kubelet(10_248, '192.0.2.7'), signal), false);
  });
});
