import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { parseUpsmon } from '../../../src/decide/machine/ups-settings.ts';
import { readUps } from '../../../src/host/ups.ts';

const UPSMON = 'MONITOR ups 1 user hunter2 primary\nHOSTSYNC 60\n';

/** A root of a file system with these files, for one test. */
async function rootWith(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), 'nodemaint-ups-'));
  t.after(() => rm(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, name)), { recursive: true });
    await writeFile(path.join(root, name), text);
  }
  return root;
}

describe('the reader of UPS monitors', () => {
  it('the reader finds nothing where no monitor is installed', async (t) => {
    assert.deepEqual(await readUps(await rootWith(t, {})), { upsmon: undefined, apcupsd: undefined });
  });

  it('the reader finds both monitors, and the mode of NUT', async (t) => {
    const root = await rootWith(t, {
      'etc/nut/upsmon.conf': UPSMON,
      'etc/nut/nut.conf': 'MODE=standalone\n',
      'etc/apcupsd/apcupsd.conf': 'KILLDELAY 20\n',
    });
    assert.deepEqual(await readUps(root), {
      upsmon: parseUpsmon(UPSMON, 'MODE=standalone'),
      apcupsd: { batteryLevelPercent: 5, minutes: 3, timeoutSec: 0, killDelaySec: 20 },
    });
  });

  it('the reader finds NUT below /etc/ups too', async (t) => {
    const root = await rootWith(t, { 'etc/ups/upsmon.conf': UPSMON });
    assert.deepEqual((await readUps(root)).upsmon, parseUpsmon(UPSMON, undefined));
  });

  it('the reader says why it cannot read a file, and reads the others', async (t) => {
    const root = await rootWith(t, {
      'etc/nut/upsmon.conf': 'A hunter2 '.repeat(10_000),
      'etc/apcupsd/apcupsd.conf': 'KILLDELAY 20\n',
    });
    const { upsmon, apcupsd } = await readUps(root);
    assert.match(
      typeof upsmon === 'string' ? upsmon : '',
      /etc\/nut\/upsmon\.conf cannot be read: larger than 64 KiB$/,
    );
    assert.equal(typeof apcupsd === 'object' && apcupsd.killDelaySec, 20);
    await rm(path.join(root, 'etc/apcupsd/apcupsd.conf'));
    await mkdir(path.join(root, 'etc/apcupsd/apcupsd.conf'));
    const again = (await readUps(root)).apcupsd;
    assert.match(typeof again === 'string' ? again : '', /apcupsd\.conf cannot be read: it is no file$/);
  });
});
