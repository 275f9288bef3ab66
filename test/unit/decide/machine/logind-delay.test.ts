import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import {
  delayProblem,
  OWN_DROP_IN,
  parseTimeSpan,
  WANTED_DELAY_MS,
  winningDelay,
} from '../../../../src/decide/machine/logind-delay.ts';
import { readLogindConfig } from '../../../../src/host/systemd/logind-config.ts';

const setting = (value: string): string => `[Login]\nInhibitDelayMaxSec=${value}\n`;

/** Writes files under a root of their own, and says which one decides; paths are relative to the root. */
async function winnerAmong(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), 'nodemaint-logind-conf-'));
  try {
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(root, name);
      await mkdir(path.dirname(file), { recursive: true });
      if (text === '/dev/null') await symlink(text, file);
      else await writeFile(file, text);
    }
    const winner = winningDelay(await readLogindConfig(root, AbortSignal.timeout(5_000)));
    return winner === undefined ? 'none' : `${path.relative(root, winner.path)} ${winner.value}`;
  } finally {
    await rm(root, { recursive: true });
  }
}

const OWN = `etc/systemd/logind.conf.d/${OWN_DROP_IN}`;
const UPGRADES = 'usr/lib/systemd/logind.conf.d/unattended-upgrades-logind-maxdelay.conf';

const cases: [string, Record<string, string>, string][] = [
  ['nobody where nothing is set', { 'etc/systemd/logind.conf': '[Login]\n#InhibitDelayMaxSec=5\n' }, 'none'],
  ['the main file alone', { 'etc/systemd/logind.conf': setting('10') }, 'etc/systemd/logind.conf 10'],
  [
    'ours over the kubelet and unattended-upgrades',
    { [OWN]: setting('604800'), [UPGRADES]: setting('30'), 'etc/systemd/logind.conf.d/99-kubelet.conf': setting('60') },
    `${OWN} 604800`,
  ],
  [
    'unattended-upgrades over the kubelet, by its name',
    { [UPGRADES]: setting('30'), 'etc/systemd/logind.conf.d/99-kubelet.conf': setting('60') },
    `${UPGRADES} 30`,
  ],
  [
    'a drop-in that sorts after ours, wherever it lies',
    { [OWN]: setting('604800'), 'usr/lib/systemd/logind.conf.d/zzz-vendor.conf': setting('1min') },
    'usr/lib/systemd/logind.conf.d/zzz-vendor.conf 1min',
  ],
  [
    'nobody where the only drop-in is masked',
    { [UPGRADES]: setting('30'), [`etc${UPGRADES.slice(7)}`]: '/dev/null' },
    'none',
  ],
  [
    'a file of /run over one of the same name in /usr/lib',
    { [UPGRADES]: setting('30'), [`run${UPGRADES.slice(7)}`]: setting('40') },
    `run${UPGRADES.slice(7)} 40`,
  ],
  ['no file without .conf', { [OWN]: setting('20'), 'etc/systemd/logind.conf.d/zzz.bak': setting('1') }, `${OWN} 20`],
  ['not a value that systemd refuses', { [OWN]: `${setting('20')}InhibitDelayMaxSec=soon\n` }, `${OWN} 20`],
  ['not an assignment in another section', { [OWN]: `${setting('20')}[Sleep]\nInhibitDelayMaxSec=1\n` }, `${OWN} 20`],
];

describe('the file that decides for how long a lock delays a shutdown', () => {
  for (const [name, files, expected] of cases) {
    it(`the file is ${name}`, async () => {
      assert.equal(await winnerAmong(files), expected);
    });
  }

  it('the file is named together with the fix where the delay is too short', () => {
    const own = { path: `/${OWN}`, value: '604800' };
    assert.equal(delayProblem(WANTED_DELAY_MS, own), undefined);
    assert.match(delayProblem(5_000, undefined)?.message ?? '', /5 s only: zz-nodemaint\.conf is not installed/);
    const other = delayProblem(30_000, { path: `/${UPGRADES}`, value: '30' });
    assert.match(other?.message ?? '', /unattended-upgrades.* wins over/);
    assert.match(other?.fix ?? '', /mask it/);
    assert.match(delayProblem(5_000, own)?.message ?? '', /although .* says 604800$/);
    assert.match(delayProblem(20_000, { ...own, value: '20' })?.message ?? '', /was changed/);
  });

  it('the file has its value read as systemd reads it', () => {
    const spans = { '5': 5_000, '1h 30min': 5_400_000, '1.5s': 1_500, '7d': WANTED_DELAY_MS, infinity: Infinity };
    for (const [text, ms] of Object.entries(spans)) assert.equal(parseTimeSpan(text), ms, text);
    for (const text of ['', 'soon', '5 parsecs', '-1', '0constructor', '1 toString'])
      assert.equal(parseTimeSpan(text), undefined, text);
  });
});
