import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DrainMessage } from '../../../../../src/addons/notify/decide/message.ts';
import { bodyOf, templateProblem } from '../../../../../src/addons/notify/decide/template.ts';
import type { Sent } from '../../../../../src/addons/notify/decide/sent.ts';
import { fieldsOf } from '../../../../../src/addons/notify/decide/words.ts';

const SENT: Sent = {
  maintenance: 'kernel',
  nodes: 'n1,n2',
  reason: 'a "new" <!channel>',
  begunAt: Date.parse('2026-01-01T10:00:00Z'),
  kinds: ['begun'],
};
const BEGUN: DrainMessage = { kind: 'begun', outcome: 'draining', blocking: [] };
const pod = (name: string, message = 'no') =>
  ({ namespace: 'a', name, reason: 'NotEnding', message, since: '2026-01-01T10:00:00Z' }) as const;

describe('the words of a message', () => {
  it('each message is one sentence that names the cluster, the nodes, the maintenance and what happened', () => {
    const text = (message: DrainMessage): string => fieldsOf('u', SENT, message, 'prod').text;
    const of = '(maintenance kernel, a "new" <!channel>)';
    assert.equal(text(BEGUN), `prod: The drain of node n1,n2 has begun ${of}.`);
    const blocking = [1, 2, 3, 4, 5, 6, 7].map((count) => pod(`p${count}`));
    assert.match(
      text({ kind: 'blocked', outcome: 'draining', blocking }),
      /is blocked .*: a\/p1 \(NotEnding: no\); .*a\/p5 \(NotEnding: no\); and 2 more\.$/,
    );
    assert.equal(
      text({ kind: 'done', outcome: 'drained', blocking: [] }),
      `prod: node n1,n2 is drained: all pods have left ${of}.`,
    );
    assert.match(text({ kind: 'forced', outcome: 'undrained', blocking: [] }), /went down before its pods had ended/);
    assert.equal(fieldsOf('u', SENT, BEGUN, '').id, 'u/begun', 'the same for each attempt');
  });

  it('no field is longer than a template is checked with, and none has control characters', () => {
    const blocking = Array.from({ length: 9 }, () => ({
      ...pod('p'.repeat(253), '\u001b'.repeat(9_000)),
      namespace: 'n'.repeat(63),
    }));
    const long = { ...SENT, maintenance: 'm'.repeat(253), nodes: 'n'.repeat(96), reason: 'r'.repeat(64) };
    const fields = fieldsOf('u'.repeat(36), long, { kind: 'blocked', outcome: 'draining', blocking }, 'c'.repeat(64));
    assert.ok(Math.max(...Object.values(fields).map(({ length }) => length)) <= 4_096);
    assert.doesNotMatch(fields.text, /\p{Cc}/u);
  });
});

describe('the body of a message', () => {
  const fields = fieldsOf('u', SENT, BEGUN, '');

  it('without a template it has all fields, or is what Slack takes, where nothing of ours is markup', () => {
    assert.deepEqual(JSON.parse(bodyOf(fields, 'json', undefined)), fields);
    const { text } = JSON.parse(bodyOf(fields, 'slack', undefined)) as { text: string };
    assert.match(text, /a "new" &lt;!channel&gt;/);
  });

  it('a template gets the fields into its strings, and is JSON whatever they are', () => {
    const template = '{"summary": "{{ text }}", "severity": "info", "x": {"nodes": "{{nodes}}/{{kind}}"}}';
    assert.equal(templateProblem(template), undefined);
    const body = JSON.parse(bodyOf(fields, 'json', template)) as unknown;
    assert.deepEqual(body, { summary: fields.text, severity: 'info', x: { nodes: 'n1,n2/begun' } });
    assert.match(bodyOf(fields, 'slack', template), /&lt;!channel&gt;/);
    const odd = { ...fields, text: '{{nodes}} $& $1', nodes: 'n' };
    assert.match(
      bodyOf(odd, 'json', template),
      /"summary": "\{\{nodes\}\} \$& \$1"/,
      'a field is not read as a template',
    );
  });

  it('a template with an unknown word, that is no JSON, or that may become too long is refused with a sentence', () => {
    assert.match(templateProblem('{"a": "{{node}}"}') ?? '', /no \{\{node\}\}: the words are id, kind,/);
    assert.match(templateProblem('{"a": {{text}}}') ?? '', /must be JSON, with its words inside of strings/);
    assert.match(templateProblem('text') ?? '', /must be JSON/);
    assert.match(templateProblem(`{"a": "${'{{text}}'.repeat(100)}"}`) ?? '', /more than 131072 characters/);
    assert.match(templateProblem(`{"a": "${'x'.repeat(20_000)}"}`) ?? '', /at most 16384 characters/);
  });
});
