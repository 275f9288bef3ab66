/** The shell scripts of the repository, judged by shellcheck. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const SCRIPTS = [
  '.ci/run',
  '.ci/as-user',
  '.ci/node',
  '.ci/package/postinst',
  '.ci/package/prerm',
  '.ci/package/postrm',
  'install.sh',
  'systemd/libexec/lock-holder',
  'systemd/libexec/nodemaint',
];

describe('the shell scripts', () => {
  it('the shell scripts of the repository have no fault that shellcheck finds', async () => {
    await promisify(execFile)('shellcheck', SCRIPTS, { cwd: ROOT });
  });
});
