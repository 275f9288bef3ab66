/** Reads the configuration of the UPS monitors of this machine, upsmon and apcupsd. */
import path from 'node:path';
import {
  type ApcupsdSettings,
  parseApcupsd,
  parseUpsmon,
  type UpsmonSettings,
} from '../decide/machine/ups-settings.ts';
import type { UpsFacts } from '../decide/machine/ups-shutdown.ts';
import { describeError, errorCodeOf } from '../errors.ts';
import { readBoundedFile } from './files/bounded-file.ts';

const MAX_BYTES = 65_536;
/** Where distributions have the files of Network UPS Tools. */
const NUT_DIRECTORIES = ['etc/nut', 'etc/ups'];

/** The text of a file; undefined where it is absent. Throws the errors of `readBoundedFile`. */
async function readOptional(file: string): Promise<string | undefined> {
  try {
    return await readBoundedFile(file, MAX_BYTES);
  } catch (error) {
    const code = errorCodeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new Error(`${file} cannot be read: ${describeError(error)}`, { cause: error });
  }
}

async function readUpsmon(root: string): Promise<UpsmonSettings | undefined> {
  for (const directory of NUT_DIRECTORIES) {
    const upsmonConf = await readOptional(path.join(root, directory, 'upsmon.conf'));
    if (upsmonConf === undefined) continue;
    return parseUpsmon(upsmonConf, await readOptional(path.join(root, directory, 'nut.conf')));
  }
  return undefined;
}

async function readApcupsd(root: string): Promise<ApcupsdSettings | undefined> {
  const text = await readOptional(path.join(root, 'etc/apcupsd/apcupsd.conf'));
  return text === undefined ? undefined : parseApcupsd(text);
}

/** What the UPS monitors are set to; `root` is the root of the file system. Never fails. */
export async function readUps(root: string): Promise<Omit<UpsFacts, 'maxHoldSec'>> {
  return {
    upsmon: await readUpsmon(root).catch(describeError),
    apcupsd: await readApcupsd(root).catch(describeError),
  };
}
