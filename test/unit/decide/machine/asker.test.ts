import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AskerFacts, describeAsker } from '../../../../src/decide/machine/asker.ts';

const USERS = 'root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/sh\n\nbad name:x:7:7::/:/bin/sh\n';
const ofUid = (uid: number): string =>
  `Name:\tnode\nState:\tR\nUid:\t${uid}\t${uid}\t${uid}\t${uid}\nGid:\t0\t0\t0\t0\n`;

const TABLE: readonly (readonly [string, Partial<AskerFacts>, string])[] = [
  ['root with sudo', { status: ofUid(0), loginUid: '1000' }, 'root (uid 0), logged in as alice (uid 1000), pid 42'],
  ['root that logged in', { status: ofUid(0), loginUid: '0' }, 'root (uid 0), pid 42'],
  ['a service', { status: ofUid(0), loginUid: '4294967295' }, 'root (uid 0), pid 42'],
  ['a kernel without logins', { status: ofUid(1000) }, 'alice (uid 1000), pid 42'],
  ['a user of a directory service', { status: ofUid(70_000), loginUid: '70000\n' }, 'uid 70000, pid 42'],
  ['a user whose name is none', { status: ofUid(7) }, 'uid 7, pid 42'],
  ['a process that has ended', {}, 'a process that says it is pid 42'],
  ['a status that is none', { status: 'Uid:\tx\n', loginUid: 'x' }, 'a process that says it is pid 42'],
];

describe('who speaks on the control socket', () => {
  for (const [what, facts, words] of TABLE) {
    it(`${what}: ${words}`, () => {
      assert.equal(describeAsker({ pid: 42, status: undefined, loginUid: undefined, users: USERS, ...facts }), words);
    });
  }
});
