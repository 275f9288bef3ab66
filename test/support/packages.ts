/** The .deb of this checkout, and one of a later version, for tests of installations and upgrades. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { makePackage } from '../../.ci/package.ts';

const run = promisify(execFile);

/** The version of the later one. */
export const NEXT_VERSION = '99.0.0';

/** The paths of the two packages. */
export interface DebPair {
  readonly first: string;
  readonly next: string;
}

/** Makes both in `folder`, for the architecture of this process. The later program differs in its last line, `// next`. */
export async function makeDebPair(folder: string, signal: AbortSignal): Promise<DebPair> {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const first = await makePackage({ architecture, format: 'deb', epochSec: 0, target: folder }, signal);
  const next = path.join(folder, 'next.deb');
  const tree = await mkdtemp(path.join(folder, 'tree-'));
  await run('dpkg-deb', ['-R', first, tree], { signal });
  const version = `sed -i 's/^Version:.*/Version: ${NEXT_VERSION}/' DEBIAN/control`;
  const program = `echo '// next' >> usr/libexec/nodemaint/dist/nodemaint.cjs`;
  const pack = `dpkg-deb --root-owner-group -Znone -b . ${next}`;
  await run('sh', ['-c', `${version} && ${program} && ${pack}`], { cwd: tree, signal });
  await rm(tree, { recursive: true });
  return { first, next };
}
