/** The shell scripts of the repository and of a package, judged by shellcheck. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { PACKAGE_FORMATS, writeScripts } from '../../../.ci/package-scripts.ts';
import { temporaryFolder } from '../../support/folder.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const SCRIPTS = [
  '.ci/run',
  '.ci/as-user',
  '.ci/kubectl-nodemaint',
  '.ci/node',
  'install.sh',
  'systemd/libexec/lock-holder',
];

async function shellcheck(folder: string, files: readonly string[]): Promise<void> {
  await promisify(execFile)('shellcheck', files, { cwd: folder });
}

describe('the shell scripts', () => {
  it('the shell scripts of the repository have no fault that shellcheck finds', async () => {
    await shellcheck(ROOT, SCRIPTS);
  });

  for (const format of PACKAGE_FORMATS) {
    it(`the shell scripts of a .${format} have none either, with the function of install.sh in them`, async (t) => {
      const folder = await temporaryFolder(t, 'scripts');
      await writeScripts(folder, format);
      await shellcheck(folder, await readdir(folder));
    });
  }
});
