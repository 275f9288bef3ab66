import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const MODULE = import.meta.dirname;

async function isProgram(file: string): Promise<boolean> {
  return await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/**
 * The path of the public amazon-ec2-metadata-mock, built once from the Go modules that go.mod pins and kept by what it was
 * built from.
 */
export async function ec2MetadataMockBinary(signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) hash.update(await readFile(path.join(MODULE, file)));
  const base = process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache');
  const folder = path.join(base, 'nodemaint', 'ec2-metadata-mock');
  const program = path.join(folder, hash.digest('hex').slice(0, 16));
  if (await isProgram(program)) return program;

  await mkdir(folder, { recursive: true });
  const temporary = await mkdtemp(`${program}.`);
  const go = (await isProgram('/usr/local/go/bin/go')) ? '/usr/local/go/bin/go' : 'go';
  try {
    const built = path.join(temporary, 'ec2-metadata-mock');
    const args = ['build', '-buildvcs=false', '-trimpath', '-ldflags=-s -w', '-o', built, 'tool'];
    await promisify(execFile)(go, args, { cwd: MODULE, signal });
    // Whole or not at all, whoever else builds it meanwhile.
    await rename(built, program);
    return program;
  } catch (error) {
    throw new Error(`building amazon-ec2-metadata-mock of ${MODULE} with ${go}`, { cause: error });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
