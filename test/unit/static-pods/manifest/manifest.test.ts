import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_MANIFEST_BYTES, type Manifest, parseManifest } from '../../../../src/static-pods/manifest/manifest.ts';

const HEAD = 'apiVersion: v1\nkind: Pod\n';
const NAMED = `${HEAD}metadata: {name: web}\n`;

function parse(text: string | Buffer, nodeName = 'node-1'): ReturnType<typeof parseManifest> {
  return parseManifest({ name: 'web.yaml', bytes: Buffer.from(text) }, nodeName);
}

describe('a manifest that the kubelet runs', () => {
  const cases: readonly { is: string; text: string; nodeName?: string; gives: Partial<Manifest> }[] = [
    {
      is: 'a bare pod with every default',
      text: NAMED,
      gives: {
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
    },
    { is: 'JSON', text: '  {"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}', gives: { name: 'web' } },
    { is: 'with a byte order mark', text: `\uFEFF${NAMED}`, gives: { name: 'web' } },
    {
      is: 'for a node with capitals',
      text: NAMED,
      nodeName: 'Node-A.Example',
      gives: { podName: 'web-node-a.example' },
    },
    {
      is: 'in a namespace, with labels and annotations',
      text: `${HEAD}metadata: {name: web, namespace: kube-system, labels: {app: web}, annotations: {a: "1"}}`,
      gives: { namespace: 'kube-system', labels: { app: 'web' }, annotations: { a: '1' } },
    },
    {
      is: 'with nulls where the kubelet takes them for nothing',
      text: `${HEAD}metadata: {name: web, namespace: null, labels: {a: null}}\nspec: {priority: null}`,
      gives: { namespace: 'default', labels: { a: '' }, priority: 0, priorityKnown: false },
    },
    { is: 'with a priority', text: `${NAMED}spec: {priority: -5}`, gives: { priority: -5, priorityKnown: true } },
    {
      is: 'with a priority and a class',
      text: `${NAMED}spec: {priority: 7, priorityClassName: system-node-critical}`,
      gives: { priority: 7, priorityKnown: true },
    },
    {
      is: 'of class system-node-critical',
      text: `${NAMED}spec: {priorityClassName: system-node-critical}`,
      gives: { priority: 2_000_001_000, priorityKnown: true },
    },
    {
      is: 'of class system-cluster-critical',
      text: `${NAMED}spec: {priorityClassName: system-cluster-critical}`,
      gives: { priority: 2_000_000_000, priorityKnown: true },
    },
    {
      is: 'of a class of the cluster',
      text: `${NAMED}spec: {priorityClassName: gold}`,
      gives: { priority: 0, priorityKnown: false },
    },
    { is: 'with a grace period', text: `${NAMED}spec: {terminationGracePeriodSeconds: 90}`, gives: { graceSec: 90 } },
    {
      is: 'with a grace period of 0',
      text: `${NAMED}spec: {terminationGracePeriodSeconds: 0}`,
      gives: { graceSec: 1 },
    },
    { is: 'with a negative one', text: `${NAMED}spec: {terminationGracePeriodSeconds: -1}`, gives: { graceSec: 1 } },
    {
      is: 'with a grace period that overflows timers',
      text: `${NAMED}spec: {terminationGracePeriodSeconds: 9223372036854775807}`,
      gives: { graceSec: 31_536_000 },
    },
    {
      is: 'with a flow sequence over several lines',
      text: `${NAMED}spec:\n  args: [\n    "a",\n  ]`,
      gives: { name: 'web' },
    },
    { is: 'before other documents', text: `# first\n---\n${NAMED}---\n@ no YAML`, gives: { name: 'web' } },
    {
      is: 'with the same key twice',
      text: `${NAMED}spec: {priority: 1}\nspec: {priority: 2}`,
      gives: { priority: 2 },
    },
    {
      is: 'with a date and a base 60 number as labels',
      text: `${HEAD}metadata: {name: web, labels: {day: 2026-01-01, at: 12:30:45}}`,
      gives: { labels: { day: '2026-01-01', at: '12:30:45' } },
    },
    {
      is: 'with anchors and merge keys',
      text: `${HEAD}x: &m {name: web}\nmetadata:\n  <<: *m\n  namespace: apps`,
      gives: { name: 'web', namespace: 'apps' },
    },
    { is: 'with an octal number of YAML 1.2', text: `${NAMED}spec: {priority: 0o17}`, gives: { priority: 15 } },
    { is: 'with one of YAML 1.1', text: `${NAMED}spec: {priority: -017}`, gives: { priority: -15 } },
    { is: 'with capitals in its number', text: `${NAMED}spec: {priority: 0X1F}`, gives: { priority: 31 } },
    { is: 'with old Macintosh line ends', text: NAMED.replaceAll('\n', '\r'), gives: { name: 'web' } },
    { is: 'with Windows line ends', text: NAMED.replaceAll('\n', '\r\n'), gives: { name: 'web' } },
    {
      is: 'with the other line ends of YAML 1.1',
      text: 'apiVersion: v1\u0085kind: Pod\u2028metadata: {name: web}',
      gives: { name: 'web' },
    },
    { is: 'with a comment close to a quoted text', text: `${HEAD}metadata:\n  name: "web"#c`, gives: { name: 'web' } },
    {
      is: 'whose kind has a capital',
      text: 'apiVersion: v1\nKind: Pod\nmetadata: {name: web}',
      gives: { name: 'web' },
    },
    { is: 'of the empty group', text: 'apiVersion: /v1\nkind: Pod\nmetadata: {name: web}', gives: { name: 'web' } },
    {
      is: 'that ends in "-", as the node name follows',
      text: `${HEAD}metadata: {name: web-}`,
      gives: { podName: 'web--node-1' },
    },
  ];
  for (const { is, text, nodeName, gives } of cases) {
    it(`a manifest that the kubelet runs is a pod: ${is}`, () => {
      assert.partialDeepStrictEqual(parse(text, nodeName), gives);
    });
  }
});

describe('a file that is no manifest', () => {
  const cases: readonly { is: string; text: string | Buffer; reason: RegExp }[] = [
    {
      is: 'empty',
      text: '',
      reason: /^web\.yaml: not a v1 Pod \(its first document is empty\); the kubelet ignores it too; /,
    },
    { is: 'a comment', text: '# nothing', reason: /first document is empty/ },
    { is: 'a scalar', text: 'hello', reason: /not a v1 Pod \(it is no object\)/ },
    { is: 'a sequence', text: '- a', reason: /not a v1 Pod \(it is no object\)/ },
    {
      is: 'a List',
      text: 'apiVersion: v1\nkind: List\nitems: []',
      reason: /not a v1 Pod \(kind is List\).*one Pod a file/,
    },
    {
      is: 'a PodList',
      text: 'apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: web}}]',
      reason: /not a v1 Pod \(kind is PodList\); the kubelet ignores it too; write one Pod a file/,
    },
    {
      is: 'with a truth of YAML 1.1 as a label',
      text: `${HEAD}metadata: {name: web, labels: {a: on}}`,
      reason: /metadata\.labels\.a/,
    },
    { is: 'without a kind', text: 'apiVersion: v1', reason: /kind is missing/ },
    { is: 'of another version', text: 'apiVersion: v2\nkind: Pod', reason: /apiVersion is v2/ },
    { is: 'of a kind that is no string', text: 'apiVersion: v1\nkind: [Pod]', reason: /kind is of type object/ },
    { is: 'without metadata', text: HEAD, reason: /metadata\.name is missing/ },
    {
      is: 'with a number as its name',
      text: `${HEAD}metadata: {name: 12}`,
      reason: /metadata\.name: .*expected string/,
    },
    { is: 'named "yes"', text: `${HEAD}metadata: {name: yes}`, reason: /metadata\.name: .*expected string/ },
    { is: 'with a name that climbs', text: `${HEAD}metadata: {name: ../../etc}`, reason: /no DNS subdomain/ },
    { is: 'with a capital in its name', text: `${HEAD}metadata: {name: Web}`, reason: /no DNS subdomain/ },
    { is: 'with a line break in its name', text: `${HEAD}metadata: {name: "web\\n"}`, reason: /no DNS subdomain/ },
    { is: 'with too long a name', text: `${HEAD}metadata: {name: ${'a'.repeat(250)}}`, reason: /no DNS subdomain/ },
    {
      is: 'in an impossible namespace',
      text: `${HEAD}metadata: {name: web, namespace: a/b}`,
      reason: /metadata\.namespace a\/b/,
    },
    {
      is: 'with a label that is a number',
      text: `${HEAD}metadata: {name: web, labels: {a: 1}}`,
      reason: /metadata\.labels\.a/,
    },
    { is: 'with a priority in words', text: `${NAMED}spec: {priority: "9"}`, reason: /spec\.priority/ },
    { is: 'with a priority beyond 32 bits', text: `${NAMED}spec: {priority: 2147483648}`, reason: /spec\.priority/ },
    { is: 'broken YAML', text: `${NAMED}spec: [`, reason: /^web\.yaml: not readable \(YAML, line \d+: / },
    { is: 'broken JSON', text: '{"apiVersion": "v1",', reason: /^web\.yaml: not JSON/ },
    { is: 'not UTF-8', text: Buffer.from([0xff, 0xfe, 0x41]), reason: /not UTF-8/ },
    { is: 'too long', text: Buffer.alloc(MAX_MANIFEST_BYTES, ' '), reason: /10 MiB or larger/ },
    { is: 'too much YAML', text: Buffer.alloc(600 * 1024, '#'), reason: /over 512 KiB of YAML.*write it as JSON/ },
    { is: 'nested too deeply', text: '['.repeat(100_000), reason: /^web\.yaml: / },
    {
      is: 'an alias bomb',
      text: [
        'a: &a [x]',
        ...'bcdefgh'.split('').map((key, i) => `${key}: &${key} [${`*${'abcdefg'[i]},`.repeat(9)}]`),
      ].join('\n'),
      reason: /Excessive alias count/,
    },
  ];
  for (const { is, text, reason } of cases) {
    it(`a file that is no manifest is invalid with a reason: ${is}`, () => {
      const result = parse(text);
      assert.equal(result.kind, 'invalid');
      assert.match(result.reason, reason);
      assert.ok(result.reason.length < 1000, result.reason);
    });
  }
});
