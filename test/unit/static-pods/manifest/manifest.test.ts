import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_MANIFEST_BYTES, type Manifest, parseManifest } from '../../../../src/static-pods/manifest/manifest.ts';

const HEAD = 'apiVersion: v1\nkind: Pod\n';
const NAMED = `${HEAD}metadata: {name: web}\n`;
const of = (metadata: string): string => `${HEAD}metadata: {${metadata}}`;
const withSpec = (spec: string): string => `${NAMED}spec: {${spec}}`;

function parse(text: string | Buffer, nodeName = 'node-1'): ReturnType<typeof parseManifest> {
  return parseManifest({ name: 'web.yaml', bytes: Buffer.from(text) }, nodeName);
}

describe('a manifest that the kubelet runs', () => {
  const cases: readonly [is: string, text: string, gives: Partial<Manifest>, nodeName?: string][] = [
    [
      'a bare pod with every default',
      NAMED,
      {
        kind: 'pod',
        file: 'web.yaml',
        sha256: '395d03f53ce923bd9eea4c79f51d65123ece19315a04efec3e4636a26610e252',
        namespace: 'default',
        name: 'web',
        podName: 'web-node-1',
        labels: {},
        annotations: {},
        priority: 0,
        priorityKnown: false,
        graceSec: 30,
      },
    ],
    ['JSON', '  {"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}', { name: 'web' }],
    ['with a byte order mark', `\uFEFF${NAMED}`, { name: 'web' }],
    ['for a node with capitals', NAMED, { podName: 'web-node-a.example' }, 'Node-A.Example'],
    [
      'in a namespace, with labels and annotations',
      of('name: web, namespace: kube-system, labels: {app: web}, annotations: {a: "1"}'),
      { namespace: 'kube-system', labels: { app: 'web' }, annotations: { a: '1' } },
    ],
    [
      'with nulls where the kubelet takes them for nothing',
      `${HEAD}metadata: {name: web, namespace: null, labels: {a: null}}\nspec: {priority: null}`,
      { namespace: 'default', labels: { a: '' }, priority: 0, priorityKnown: false },
    ],
    ['with a priority', withSpec('priority: -5'), { priority: -5, priorityKnown: true }],
    [
      'with a priority and a class',
      withSpec('priority: 7, priorityClassName: system-node-critical'),
      { priority: 7, priorityKnown: true },
    ],
    [
      'of class system-node-critical',
      withSpec('priorityClassName: system-node-critical'),
      { priority: 2_000_001_000, priorityKnown: true },
    ],
    [
      'of class system-cluster-critical',
      withSpec('priorityClassName: system-cluster-critical'),
      { priority: 2_000_000_000, priorityKnown: true },
    ],
    ['of a class of the cluster', withSpec('priorityClassName: gold'), { priority: 0, priorityKnown: false }],
    ['with a grace period', withSpec('terminationGracePeriodSeconds: 90'), { graceSec: 90 }],
    ['with a grace period of 0', withSpec('terminationGracePeriodSeconds: 0'), { graceSec: 1 }],
    ['with a negative one', withSpec('terminationGracePeriodSeconds: -1'), { graceSec: 1 }],
    [
      'with a grace period that overflows timers',
      withSpec('terminationGracePeriodSeconds: 9223372036854775807'),
      { graceSec: 31_536_000 },
    ],
    ['with a flow sequence over several lines', `${NAMED}spec:\n  args: [\n    "a",\n  ]`, { name: 'web' }],
    ['before other documents', `# first\n---\n${NAMED}---\n@ no YAML`, { name: 'web' }],
    ['with the same key twice', `${NAMED}spec: {priority: 1}\nspec: {priority: 2}`, { priority: 2 }],
    [
      'with a date and a base 60 number as labels',
      of('name: web, labels: {day: 2026-01-01, at: 12:30:45}'),
      { labels: { day: '2026-01-01', at: '12:30:45' } },
    ],
    [
      'with anchors and merge keys',
      `${HEAD}x: &m {name: web}\nmetadata:\n  <<: *m\n  namespace: apps`,
      { name: 'web', namespace: 'apps' },
    ],
    ['with an octal number of YAML 1.2', withSpec('priority: 0o17'), { priority: 15 }],
    ['with one of YAML 1.1', withSpec('priority: -017'), { priority: -15 }],
    ['with capitals in its number', withSpec('priority: 0X1F'), { priority: 31 }],
    ['with old Macintosh line ends', NAMED.replaceAll('\n', '\r'), { name: 'web' }],
    ['with Windows line ends', NAMED.replaceAll('\n', '\r\n'), { name: 'web' }],
    [
      'with the other line ends of YAML 1.1',
      'apiVersion: v1\u0085kind: Pod\u2028metadata: {name: web}',
      { name: 'web' },
    ],
    ['with a comment close to a quoted text', `${HEAD}metadata:\n  name: "web"#c`, { name: 'web' }],
    ['whose kind has a capital', 'apiVersion: v1\nKind: Pod\nmetadata: {name: web}', { name: 'web' }],
    ['of the empty group', 'apiVersion: /v1\nkind: Pod\nmetadata: {name: web}', { name: 'web' }],
    ['that ends in "-", as the node name follows', of('name: web-'), { podName: 'web--node-1' }],
  ];
  for (const [is, text, gives, nodeName] of cases) {
    it(`a manifest that the kubelet runs is a pod: ${is}`, () => {
      assert.partialDeepStrictEqual(parse(text, nodeName), gives);
    });
  }
});

describe('a file that is no manifest', () => {
  const cases: readonly [is: string, text: string | Buffer, reason: RegExp][] = [
    ['empty', '', /^web\.yaml: not a v1 Pod \(its first document is empty\); the kubelet ignores it too; /],
    ['a comment', '# nothing', /first document is empty/],
    ['a scalar', 'hello', /not a v1 Pod \(it is no object\)/],
    ['a sequence', '- a', /not a v1 Pod \(it is no object\)/],
    ['a List', 'apiVersion: v1\nkind: List\nitems: []', /not a v1 Pod \(kind is List\).*one Pod a file/],
    [
      'a PodList',
      'apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: web}}]',
      /not a v1 Pod \(kind is PodList\); the kubelet ignores it too; write one Pod a file/,
    ],
    ['with a truth of YAML 1.1 as a label', of('name: web, labels: {a: on}'), /metadata\.labels\.a/],
    ['without a kind', 'apiVersion: v1', /kind is missing/],
    ['of another version', 'apiVersion: v2\nkind: Pod', /apiVersion is v2/],
    ['of a kind that is no string', 'apiVersion: v1\nkind: [Pod]', /kind is of type object/],
    ['without metadata', HEAD, /metadata\.name is missing/],
    ['with a number as its name', of('name: 12'), /metadata\.name: .*expected string/],
    ['named "yes"', of('name: yes'), /metadata\.name: .*expected string/],
    ['with a name that climbs', of('name: ../../etc'), /no DNS subdomain/],
    ['with a capital in its name', of('name: Web'), /no DNS subdomain/],
    ['with a line break in its name', `${HEAD}metadata: {name: "web\\n"}`, /no DNS subdomain/],
    ['with too long a name', `${HEAD}metadata: {name: ${'a'.repeat(250)}}`, /no DNS subdomain/],
    ['in an impossible namespace', of('name: web, namespace: a/b'), /metadata\.namespace a\/b/],
    ['with a label that is a number', of('name: web, labels: {a: 1}'), /metadata\.labels\.a/],
    ['with a priority in words', withSpec('priority: "9"'), /spec\.priority/],
    ['with a priority beyond 32 bits', withSpec('priority: 2147483648'), /spec\.priority/],
    ['broken YAML', `${NAMED}spec: [`, /^web\.yaml: not readable \(YAML, line \d+: /],
    ['broken JSON', '{"apiVersion": "v1",', /^web\.yaml: not JSON/],
    ['not UTF-8', Buffer.from([0xff, 0xfe, 0x41]), /not UTF-8/],
    ['too long', Buffer.alloc(MAX_MANIFEST_BYTES, ' '), /10 MiB or larger/],
    ['too much YAML', Buffer.alloc(600 * 1024, '#'), /over 512 KiB of YAML.*write it as JSON/],
    ['nested too deeply', '['.repeat(100_000), /^web\.yaml: /],
    [
      'an alias bomb',
      ['a: &a [x]', ...'bcdefgh'.split('').map((key, i) => `${key}: &${key} [${`*${'abcdefg'[i]},`.repeat(9)}]`)].join(
        '\n',
      ),
      /Excessive alias count/,
    ],
  ];
  for (const [is, text, reason] of cases) {
    it(`a file that is no manifest is invalid with a reason: ${is}`, () => {
      const result = parse(text);
      assert.equal(result.kind, 'invalid');
      assert.match(result.reason, reason);
      assert.ok(result.reason.length < 1000, result.reason);
    });
  }
});
