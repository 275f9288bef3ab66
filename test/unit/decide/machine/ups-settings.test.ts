import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  nutLines,
  parseApcupsd,
  parseUpsmon,
  type UpsmonSettings,
} from '../../../../src/decide/machine/ups-settings.ts';

const lines: [string, string, readonly (readonly string[])[]][] = [
  ['words', 'this is a line', [['this', 'is', 'a', 'line']]],
  ['quotes around spaces', 'this "is also" a\tline\r\n', [['this', 'is also', 'a', 'line']]],
  ['an escaped space', 'embedded\\ space', [['embedded space']]],
  ['an escaped backslash', 'embedded\\\\backslash', [['embedded\\backslash']]],
  ['an escaped quote in quotes', 'A "b\\"c"', [['A', 'b"c']]],
  ['a quote in a word, which is a part of it', 'A b"c d"', [['A', 'b"c', 'd"']]],
  ['a line that goes on after a backslash', 'A b\\\nc\nD', [['A', 'bc'], ['D']]],
  ['an equals sign as a word', 'a=b = c', [['a', '=', 'b', '=', 'c']]],
  ['comments', '# all\nA b#c "d\nE # "f\n', [['A', 'b'], ['E']]],
  ['a backslash that ends a comment', '# a\\\nB', [['B']]],
  ['a hash in quotes', 'A "#b"', [['A', '#b']]],
  ['quotes over the end of a line', 'A "b\nc" d', [['A', 'bc', 'd']]],
  ['quotes that do not end', 'A "b\nC d', [['A', 'bC d']]],
  ['an empty word', 'A ""', [['A', '']]],
  ['characters that are not of ASCII', 'A\u{0} b\u{e9}c', [['A', 'bc']]],
  ['nothing', ' \n\n#\n', []],
];

const NUT: UpsmonSettings = {
  role: 'none',
  command: undefined,
  hostSyncSec: 15,
  finalDelaySec: 5,
  shutdownExit: 0,
  cutsPower: false,
  isAlone: false,
};
const upsmon: [string, string, string | undefined, Partial<UpsmonSettings>][] = [
  ['has the defaults where nothing is set', '', undefined, {}],
  ['is a primary', 'MONITOR a@b 1 user "pass word" primary', undefined, { role: 'primary' }],
  ['is a primary by its old name', 'MONITOR a@b 1 user pass MASTER', undefined, { role: 'primary' }],
  ['is a secondary', 'MONITOR a@b 1 user pass secondary', 'MODE=netclient', { role: 'secondary' }],
  ['only watches', 'MONITOR a@b 0 user pass slave', undefined, {}],
  [
    'is a primary of one UPS and a secondary of another',
    'MONITOR a 1 u p secondary\nMONITOR b 1 u p primary',
    undefined,
    { role: 'primary' },
  ],
  ['is not started', 'MONITOR a 1 u p primary', '#MODE=standalone\nMODE=none\n', {}],
  ['is alone', 'MONITOR a 1 u p primary', 'MODE = "standalone"', { role: 'primary', isAlone: true }],
  ['has a command in quotes', 'SHUTDOWNCMD "/sbin/shutdown -h +0"', undefined, { command: '/sbin/shutdown -h +0' }],
  ['takes one word as its command', 'SHUTDOWNCMD /sbin/halt -f', undefined, { command: '/sbin/halt' }],
  [
    'takes the last of two values',
    'HOSTSYNC 20\nHOSTSYNC 900\nFINALDELAY 0',
    undefined,
    { hostSyncSec: 900, finalDelaySec: 0 },
  ],
  ['passes over what is no number', 'HOSTSYNC 1e9\nFINALDELAY -3\n', undefined, {}],
  ['has a flag for the power', 'POWERDOWNFLAG /etc/killpower', undefined, { cutsPower: true }],
  ['leaves when it is stopped', 'SHUTDOWNEXIT no', undefined, { shutdownExit: 'when stopped' }],
  ['leaves when it is stopped, by a number', 'SHUTDOWNEXIT -1', undefined, { shutdownExit: 'when stopped' }],
  ['leaves after a time', 'SHUTDOWNEXIT 90', undefined, { shutdownExit: 90 }],
  ['leaves at once', 'SHUTDOWNEXIT yes', undefined, {}],
];

describe('the settings of a UPS monitor', () => {
  for (const [name, text, expected] of lines) {
    it(`the settings of upsmon are read with ${name}`, () => {
      assert.deepEqual(nutLines(text), expected);
    });
  }

  it('the settings of upsmon are bounded', () => {
    const [line = []] = nutLines(`${'a '.repeat(100)}\n`);
    assert.equal(line.length, 32);
    assert.equal(nutLines('a'.repeat(60_000))[0]?.[0]?.length, 4096);
  });

  for (const [name, text, nutConf, expected] of upsmon) {
    it(`the settings say that upsmon ${name}`, () => {
      assert.deepEqual(parseUpsmon(text, nutConf), { ...NUT, ...expected });
    });
  }

  it('the settings of upsmon have no password, wherever one stands', () => {
    const text = 'MONITOR a 1 user hunter2 primary\nCERTIDENT name hunter2\nMONITOR hunter2 hunter2 hunter2\n"hunter2';
    assert.doesNotMatch(JSON.stringify(parseUpsmon(text, undefined)), /hunter2/);
  });

  it('the settings of apcupsd are read, the last one of each', () => {
    const defaults = { batteryLevelPercent: 5, minutes: 3, timeoutSec: 0, killDelaySec: 0 };
    assert.deepEqual(parseApcupsd('## apcupsd.conf v1.1 ##\n#KILLDELAY 9\nMINUTES\n'), defaults);
    const text = 'BATTERYLEVEL 20\nMINUTES 1\n  MINUTES\t10 # more\r\nTIMEOUT 60\nKILLDELAY 20\nKILLDELAYS 8\n';
    assert.deepEqual(parseApcupsd(text), { batteryLevelPercent: 20, minutes: 10, timeoutSec: 60, killDelaySec: 20 });
    assert.deepEqual(parseApcupsd('TIMEOUT -1\nKILLDELAY 1e3\n'), defaults);
  });
});
