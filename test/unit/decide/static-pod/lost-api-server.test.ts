import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { carriersOf, isAddressOfNode } from '../../../../src/decide/static-pod/control-plane-pod.ts';
import { isWayLost, wayOf } from '../../../../src/decide/static-pod/lost-api-server.ts';
import { MANUAL } from '../../../../src/decide/static-pod/parked.ts';

const MINUTE = 60_000;
const AT = 1_000 * MINUTE;
const PROXY = { file: 'nginx-proxy.yaml', maintenance: 'm', parkedAt: AT, graceSec: 30 };
const ETCD = { ...PROXY, file: 'etcd.yaml', component: 'etcd' } as const;

describe('the way to the API server over a static pod of the node', () => {
  it('its address is the loopback network or one of the Node, and no other one, which may move between machines', () => {
    const addresses = [{ address: '10.0.0.7' }, { address: 'N1.example' }];
    const node = { metadata: { name: 'n' }, status: { addresses } };
    const isOwn = (host: string): boolean => isAddressOfNode(new URL(`https://${host}:6443`), node);
    assert.ok(['localhost', '127.0.0.1', '[::1]', '10.0.0.7', 'n1.example'].every(isOwn));
    assert.ok(!['10.0.0.70', 'api.example', '127.0.0.1.example'].some(isOwn));
    assert.ok(!isAddressOfNode(new URL('https://10.0.0.7'), undefined));
  });

  const [etcd, proxy] = [{ component: 'etcd' }, { component: 'proxy' }] as const;
  const api = { component: 'kube-apiserver' } as const;
  const moved = { ...api, program: { name: 'kube-apiserver', flags: { 'secure-port': '8443' } } } as const;
  const [web, other] = [{ ports: [8080, 6443] }, { ports: [8080] }];
  const ways: readonly (readonly [string, readonly object[], string, readonly object[]])[] = [
    ['the own API server and its etcd, and no proxy', [etcd, proxy, api, other], '127.0.0.1:6443', [etcd, api]],
    ['an own API server with another port', [moved, etcd, proxy], 'localhost:8443', [moved, etcd]],
    ['what names its port, alone', [etcd, proxy, web, other], '127.0.0.1:6443', [web]],
    ['the default port', [{ ports: [443] }, proxy], 'localhost', [{ ports: [443] }]],
    ['a proxy that names no port', [proxy, other, {}], 'localhost:6443', [proxy]],
    ['what may, where the API server listens elsewhere', [api, proxy, other], 'localhost:7443', [api, proxy]],
  ];
  for (const [what, pods, host, expected] of ways)
    it(`it is carried by ${what}`, () => {
      assert.deepEqual(carriersOf(pods, new URL(`https://${host}`)), expected);
    });
});

describe('the way to the API server that a drain has taken away', () => {
  it('etcd, the API server and proxies carry it, else each static pod may; what a person parked stays', () => {
    assert.deepEqual(wayOf([PROXY, ETCD]), [ETCD]);
    assert.deepEqual(wayOf([PROXY, { ...PROXY, maintenance: MANUAL }]), [PROXY]);
  });

  const rows: readonly [string, number, number | undefined, number, boolean][] = [
    ['the API server has been silent for a moment', AT, AT + 30_000, 5, false],
    ['it has been silent for five minutes', AT, AT + 30_000, 6, true],
    ['it has answered long after the pod had ended, and is silent for another reason', AT, AT + 3 * MINUTE, 60, false],
    ['an agent that was started after a boot has not heard it', AT + 10 * MINUTE, undefined, 14, false],
    ['an agent that was started after a boot has not heard it for five minutes', AT + 10 * MINUTE, undefined, 15, true],
  ];
  for (const [when, startedAt, heardAt, minutes, isLost] of rows) {
    it(`it is ${isLost ? '' : 'not '}given back when ${when}`, () => {
      const heard = { now: AT + minutes * MINUTE, startedAt, heardAt };
      assert.equal(isWayLost([PROXY], heard), isLost);
      assert.equal(isWayLost([], heard), false);
    });
  }
});
