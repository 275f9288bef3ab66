import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRequest } from '../../../../src/agent/control/protocol.ts';

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
      assert.match(JSON.stringify(parseRequest(line)), /^"not a request: /);
    });
  }

  it('every command is taken', () => {
    const trigger = { verb: 'trigger', reason: 'power', deadlineMs: 60_000 };
    for (const request of [trigger, { verb: 'release', reason: 'r' }, { verb: 'park', file: 'etcd.yaml' }]) {
      assert.deepEqual(parseRequest(JSON.stringify(request)), request);
    }
  });
});
