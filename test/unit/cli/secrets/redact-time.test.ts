import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { redacted } from '../../../support/redacted.ts';
import { assertLinear } from '../../../support/processor-time.ts';

/** What the expressions look for, and what they look past: repeated without end. */
const PARTS = [
  'a',
  '\\',
  '\\"',
  '"',
  "'",
  '`',
  '\n',
  '\n ',
  ' ',
  '.',
  '--',
  '://',
  '&quot;',
  '<password ',
  '@',
  '#',
  '{"a":"\\"',

  'token',
  'token ',
  "token:'",
  'token:"\\"',
  'a_key-',
  'a_key-a_key-: ',
  'eyJ-',
  'A1a',
  'A=1 ',
  'key: ',
  '%3D',
  '-----BEGIN ',

  'Environment="A=',
  'env:\n',
  '- name: A\n',
  'value: "',
  '"value: ',
  '"data":{value: ',
  'value: `',
  'mysql -',
  'password is ',

  'login x ',
  'MONITOR a 1 b ',
  '/hooks/',
  'bot123456:',
  '?code=',
  '$6$',
  'x: |\n  ',
  'a:5432:',
  'jdbc:oracle:thin:',
  '{"a":[',
];
const SHORT = 4_000;

describe('the time that taking secrets out takes', () => {
  for (const part of PARTS) {
    for (const [where, before] of [
      ['', ''],
      [' in the environment of a unit', 'Environment='],
    ] as const) {
      it(`eight times the text takes no more than some eight times the time${where}: ${JSON.stringify(part)}`, () => {
        assertLinear(redacted, (length) => before + part.repeat(Math.ceil(length / part.length)), SHORT);
      });
    }
  }

  it('a long name loses its value, and a word that is too long for a name is taken out', () => {
    const text = `${'a_key-'.repeat(45_000)}: SECRET\n${'b-'.repeat(45_000)}\nrest\n`;
    const left = redacted(text);
    assert.doesNotMatch(left, /SECRET/);
    assert.ok(left.length < 200, left.slice(0, 300));
    assert.match(left, /\nrest\n$/);
  });
});
