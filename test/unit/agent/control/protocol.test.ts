import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { controlSocketPath, parseRequest } from '../../../../src/agent/control/protocol.ts';

const refused: readonly (readonly [what: string, line: string])[] = [
  ['no JSON', 'status'],
  ['an unknown command', '{"verb":"format"}'],
  ['an unknown key', '{"verb":"status","all":true}'],
  ['an empty reason', '{"verb":"trigger","reason":""}'],
  ['a reason of more than 1024 characters', `{"verb":"release","reason":"${'x'.repeat(1025)}"}`],
  ['a deadline of no time', '{"verb":"trigger","reason":"r","deadlineMs":0}'],
  ['a deadline after more than 30 days', '{"verb":"trigger","reason":"r","deadlineMs":2592000001}'],
  ['a file in another directory', '{"verb":"park","file":"../etcd.yaml"}'],
  ['a hidden file', '{"verb":"restore","file":".etcd.yaml"}'],
  ['a file name with a null character', '{"verb":"park","file":"a\\u0000b"}'],
];

describe('a request on the control socket', () => {
  for (const [what, line] of refused) {
    it(`a request with ${what} is refused`, () => {
      assert.match(JSON.stringify(parseRequest(line, 'root')), /^"not a request: /);
    });
  }

  it('root may send every command', () => {
    const trigger = { verb: 'trigger', reason: 'power', deadlineMs: 60_000 };
    for (const request of [trigger, { verb: 'release', reason: 'r' }, { verb: 'park', file: 'etcd.yaml' }]) {
      assert.deepEqual(parseRequest(JSON.stringify(request), 'root'), request);
    }
  });

  it('the control group may trigger and cancel, but neither release nor move manifests', () => {
    assert.deepEqual(parseRequest('{"verb":"cancel"}', 'group'), { verb: 'cancel' });
    assert.deepEqual(parseRequest('{"verb":"trigger","reason":"r"}', 'group'), { verb: 'trigger', reason: 'r' });
    for (const line of ['{"verb":"release","reason":"r"}', '{"verb":"park","file":"a"}']) {
      assert.match(JSON.stringify(parseRequest(line, 'group')), /^"only root may ask for/);
    }
  });

  it('root and the control group have different sockets', () => {
    assert.equal(controlSocketPath('/run/nodemaint'), '/run/nodemaint/control.sock');
    assert.equal(controlSocketPath('/run/nodemaint', 'group'), '/run/nodemaint/group.sock');
  });
});
