import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

async function isProgram(file: string): Promise<boolean> {
  return await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/**
 * The path of the one program that the go.mod in the folder `module` has as its tool. It is built once and kept under `name`,
 * by what it was built from.
 */
export async function goProgram(name: string, module: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) hash.update(await readFile(path.join(module, file)));
  const base = process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache');
  const folder = path.join(base, 'nodemaint', name);
  const program = path.join(folder, hash.digest('hex').slice(0, 16));
  if (await isProgram(program)) return program;

  process.stderr.write(`building ${name} from its Go module; some minutes, once\n`);
  await mkdir(folder, { recursive: true });
  const temporary = await mkdtemp(`${program}.`);
  const go = (await isProgram('/usr/local/go/bin/go')) ? '/usr/local/go/bin/go' : 'go';
  try {
    const built = path.join(temporary, name);
    const flags = ['-buildvcs=false', '-trimpath', '-ldflags=-s -w', '-gcflags=all=-dwarf=false'];
    // One process builds at a time, and a second one finds what the first one built.
    const unlessBuilt = ['sh', '-c', 'test -x "$0" || exec "$@"', program];
    // The compiler takes less processor time without debug information and with more memory.
    const options = { cwd: module, signal, env: { ...process.env, GOGC: '400' }, maxBuffer: 64 * 1024 * 1024 };
    await promisify(execFile)(
      'flock',
      [`${program}.lock`, ...unlessBuilt, go, 'build', ...flags, '-o', built, 'tool'],
      options,
    );
    // Whole or not at all.
    if (!(await isProgram(program))) await rename(built, program);
    return program;
  } catch (error) {
    throw new Error(`building ${name} of ${module} with ${go}`, { cause: error });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
