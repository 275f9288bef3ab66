/** What a build is made from. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import type { Source } from './provenance.ts';

const ROOT = path.join(import.meta.dirname, '..');

async function git(...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)('git', [...args], { cwd: ROOT })).stdout.trim();
}

/**
 * The commit of the sources, with "-dirty" where they have been changed, and its time, or the one in SOURCE_DATE_EPOCH. Outside
 * of a git checkout the commit is empty.
 */
export async function sourceOf(): Promise<Source> {
  const given = Number(process.env['SOURCE_DATE_EPOCH'] ?? Number.NaN);
  try {
    const [hash, time] = [await git('rev-parse', 'HEAD'), Number(await git('log', '-1', '--format=%ct'))];
    const isClean = (await git('status', '--porcelain', '--untracked-files=no')) === '';
    return { commit: isClean ? hash : `${hash}-dirty`, epochSec: Number.isInteger(given) ? given : time };
  } catch {
    return { commit: '', epochSec: Number.isInteger(given) ? given : 0 };
  }
}
