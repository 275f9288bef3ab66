import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, it } from 'node:test';
import { redacted } from '../../../../../src/cli/bundle/secrets/redact.ts';

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

/** The time of the processor in milliseconds, the least of three runs: other programs of the machine have no part in it. */
function processorMs(text: string): number {
  const runs = Array.from({ length: 3 }, () => {
    const before = process.cpuUsage();
    redacted(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...runs);
}

describe('the time that taking secrets out takes', () => {
  for (const part of PARTS) {
    for (const [where, before] of [
      ['', ''],
      [' in the environment of a unit', 'Environment='],
    ] as const) {
      it(`eight times the text takes no more than some eight times the time${where}: ${JSON.stringify(part)}`, () => {
        const textOf = (length: number): string => before + part.repeat(Math.ceil(length / part.length));
        const short = processorMs(textOf(SHORT));
        const long = processorMs(textOf(8 * SHORT));
        // Where the work grows with the square of the length it is 64 times the time; below 40 ms nothing is measured.
        assert.ok(long < 40 || long < 32 * short, `${short.toFixed(1)} ms, then ${long.toFixed(1)} ms`);
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
