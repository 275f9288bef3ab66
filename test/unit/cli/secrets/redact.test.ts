import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redacted } from '../../../support/redacted.ts';

/** Texts that a person who helps needs, and in which nothing is secret. */
const KEPT: readonly string[] = [
  'node: worker-1\nphase: draining\nwaits for PodDisruptionBudget p0, uid 5f7c1a2e-0000-4000-8000-000000000000',
  'selector: {"key": "kubernetes.io/hostname", "operator": "In"}',
  'tolerations:\n- effect: NoSchedule\n  key: dedicated\n  operator: Equal\n  value: db',
  `image: r/x:1.2@sha256:${'0123456789abcdef'.repeat(4)}`,
  'Environment=NODE_OPTIONS=--x TZ=UTC\nEnvironment="MALLOC_ARENA_MAX=1"',
  'author: x\nhe passes on: x\nhttps://10.0.0.1:6443/api/v1/pods?limit=500',
  'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nNAME="Debian GNU/Linux"\nVERSION_ID="13"\nID=debian\nHOME_URL="https://www.debian.org/"',
  'Id=nodemaint.service\nActiveState=active\nNRestarts=0\nMemoryCurrent=70123520',
  '[Login]\nInhibitDelayMaxSec=7d\n',
  'automountServiceAccountToken: false',
  'topologyKey: kubernetes.io/hostname',
  '2026-07-01T12:00:00.123456+0200 vm nodemaint[12]: {"level":"info","msg":"drained","node":"n1","tookMs":12}',
  'mkdir -p /var/lib/nodemaint\njournalctl -u nodemaint -p warning',
  'ExecStart=/usr/lib/nodemaint/node /usr/lib/nodemaint/agent.cjs agent --config /etc/nodemaint/config.yaml',
  'the API server answered HTTP 403: nodes "n1" is forbidden: User "system:node:n2" cannot patch resource "nodes"',
];

describe('what is not taken out of a text', () => {
  for (const text of KEPT) {
    it(`the text keeps what helps: ${text.slice(0, 50)}`, () => {
      assert.equal(redacted(text), text);
    });
  }

  it('JSON keeps its form, and what helps', () => {
    const value = {
      metadata: { name: 'm', labels: { app: 'x' }, creationTimestamp: '2026-07-01T12:00:00Z' },
      spec: {
        automountServiceAccountToken: false,
        tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'db' }],
        containers: [{ args: ['--config', '/etc/x', '--port=8080'], env: [{ name: 'NODE_NAME', value: 'n1' }] }],
      },
      status: { message: 'use --token ', conditions: [{ type: 'Drained', status: 'True' }] },
    };
    assert.deepEqual(JSON.parse(redacted(JSON.stringify(value))), value);
  });

  it('JSON stays JSON where all of an object is secret', () => {
    const value = { imagePullSecrets: [{ name: 'hush' }], secret: { optional: true, n: 1 }, last: 'x' };
    assert.deepEqual(JSON.parse(redacted(JSON.stringify(value))), {
      imagePullSecrets: [{ name: '[taken out]' }],
      secret: { optional: true, n: '[taken out]' },
      last: 'x',
    });
  });

  it('variables keep their names', () => {
    const env = [
      { name: 'db_url', value: 'hush' },
      { name: 'x', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    ];
    assert.deepEqual(JSON.parse(redacted(JSON.stringify({ env }))), {
      env: [{ name: 'db_url', value: '[taken out]' }, env[1]],
    });
    assert.equal(
      redacted('env:\n- name: a\n  value: hush\n- b=hush\nx: y'),
      'env:\n- name: a\n  value: [taken out]\n- b=[taken out]\nx: y',
    );
  });
});
