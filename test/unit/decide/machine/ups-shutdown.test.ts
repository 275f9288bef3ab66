import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseApcupsd, parseUpsmon } from '../../../../src/decide/machine/ups-settings.ts';
import {
  describeUps,
  forcedShutdown,
  type UpsFacts,
  upsProblems,
} from '../../../../src/decide/machine/ups-shutdown.ts';

const NONE: UpsFacts = { upsmon: undefined, apcupsd: undefined, maxHoldSec: undefined };
const PRIMARY =
  'MONITOR ups 1 user hunter2 primary\nSHUTDOWNCMD "/sbin/shutdown -h +0"\nPOWERDOWNFLAG /etc/killpower\n';
const SECONDARY = 'MONITOR ups@a 1 user hunter2 secondary\nSHUTDOWNCMD "/sbin/shutdown -h +0"\n';
const nut = (text: string, nutConf?: string): Pick<UpsFacts, 'upsmon'> => ({ upsmon: parseUpsmon(text, nutConf) });
const apc = (text: string): Pick<UpsFacts, 'apcupsd'> => ({ apcupsd: parseApcupsd(text) });

const forced: [string, string | undefined][] = [
  ['/sbin/shutdown -h +0', undefined],
  ['/sbin/shutdown -f -h now', undefined],
  ['/sbin/poweroff', undefined],
  ['systemctl poweroff', undefined],
  ['systemctl -i poweroff', undefined],
  ['systemctl -f stop web; shutdown -h now', undefined],
  ['rm -f /a; /sbin/poweroff', undefined],
  ['/usr/local/sbin/ups-down -f', undefined],
  ['', undefined],
  ['/sbin/poweroff -f', 'poweroff -f'],
  ['sync; sudo /sbin/halt -fp', 'halt -f'],
  ['/bin/systemctl --force --force poweroff', 'systemctl --force'],
  ['/usr/bin/systemctl poweroff -ff', 'systemctl -f'],
  ["sh -c 'sync && reboot -f'", 'reboot -f'],
  ['echo o >/proc/sysrq-trigger', 'sysrq-trigger'],
];

/** Each with what is found: the setting that is named; a leading `!` for a fault that fails the check. */
const cases: [string, Partial<UpsFacts>, readonly string[]][] = [
  ['without a monitor', {}, []],
  ['with an upsmon that monitors nothing', nut('SHUTDOWNCMD "halt -f"'), []],
  ['that is a primary as Debian sets it up', nut(PRIMARY), ['HOSTSYNC']],
  ['that has its UPS for itself', nut(PRIMARY, 'MODE=standalone'), []],
  ['that is a primary which does not cut the power', nut(PRIMARY.replace('POWERDOWNFLAG', '#')), []],
  ['whose primary waits for five minutes', nut(`${PRIMARY}HOSTSYNC 295\n`), []],
  [
    'whose primary waits for less than maxHoldSec',
    { ...nut(`${PRIMARY}HOSTSYNC 295\n`), maxHoldSec: 301 },
    ['HOSTSYNC'],
  ],
  ['whose primary waits as long as maxHoldSec', { ...nut(`${PRIMARY}FINALDELAY 45\n`), maxHoldSec: 60 }, []],
  ['that is a secondary as Debian sets it up', nut(SECONDARY), ['leaves its primary']],
  ['that is a secondary which stays until it is stopped', nut(`${SECONDARY}SHUTDOWNEXIT off\n`), []],
  ['that is a secondary which stays long enough', { ...nut(`${SECONDARY}SHUTDOWNEXIT 60\n`), maxHoldSec: 60 }, []],
  [
    'that is a secondary which stays too short',
    { ...nut(`${SECONDARY}SHUTDOWNEXIT 59\n`), maxHoldSec: 60 },
    ['leaves its primary'],
  ],
  ['that goes down by force', nut(`${PRIMARY}HOSTSYNC 900\nSHUTDOWNCMD "poweroff -f"`), ['!SHUTDOWNCMD']],
  [
    'that goes down by force, which comes first',
    nut(`${SECONDARY}SHUTDOWNCMD "halt -f"`),
    ['!SHUTDOWNCMD', 'leaves its primary'],
  ],
  ['with apcupsd as Debian sets it up', apc('MINUTES 3\nBATTERYLEVEL 5\nTIMEOUT 0\nKILLDELAY 0'), ['MINUTES']],
  ['with apcupsd that leaves ten minutes', apc('MINUTES 10'), []],
  ['with apcupsd that leaves less than maxHoldSec', { ...apc('MINUTES 10'), maxHoldSec: 601 }, ['MINUTES']],
  ['with apcupsd that goes by time', apc('TIMEOUT 60'), []],
  ['with apcupsd that cuts the power', apc('MINUTES 10\nKILLDELAY 20'), ['KILLDELAY']],
  ['with apcupsd that cuts the power after maxHoldSec', { ...apc('MINUTES 10\nKILLDELAY 500'), maxHoldSec: 400 }, []],
  ['with files that cannot be read', { upsmon: 'upsmon.conf: EACCES' }, ['EACCES']],
];

describe('a shutdown by a UPS monitor', () => {
  for (const [command, expected] of forced) {
    it(`a shutdown by "${command}" ${expected === undefined ? 'does not go around logind' : 'goes around logind'}`, () => {
      assert.equal(forcedShutdown(command), expected);
    });
  }

  for (const [name, facts, expected] of cases) {
    it(`a shutdown of a machine ${name} has ${expected.length === 0 ? 'no fault' : `the faults ${expected.join(', ')}`}`, () => {
      const problems = upsProblems({ ...NONE, ...facts });
      assert.equal(problems.length, expected.length, JSON.stringify(problems));
      for (const [at, setting] of expected.entries()) {
        assert.ok(problems[at]?.message.includes(setting.replace('!', '')), problems[at]?.message);
        assert.equal(problems[at]?.fails, setting.startsWith('!'));
        assert.notEqual(problems[at]?.fix, '');
      }
      assert.doesNotMatch(JSON.stringify(problems), /hunter2/);
    });
  }

  it('a shutdown has the monitors named that let it end', () => {
    assert.equal(describeUps(NONE), 'no monitor of a UPS shuts this machine down');
    assert.equal(describeUps({ ...NONE, ...nut(PRIMARY), ...apc('') }), 'upsmon (primary) and apcupsd let a drain end');
  });
});
