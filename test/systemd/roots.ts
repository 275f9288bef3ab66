/** Systems of other releases for containers, taken from the images of the machines of the e2e tests. */
import { execFile } from 'node:child_process';
import { access, mkdtemp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { assertDeclared } from '../needs/declared.ts';
import { type Debian, imageOf } from '../e2e/machine/image.ts';

/** The root folder of the system of a release; made once, beside the image of its machine. */
export async function systemRoot(debian: Debian, signal: AbortSignal): Promise<string> {
  assertDeclared(`root-${debian}`);
  const { disk } = await imageOf(debian, signal);
  const root = path.join(path.dirname(disk), 'root');
  const exists = await access(root).then(
    () => true,
    () => false,
  );
  if (exists) return root;
  const temporary = await mkdtemp(`${root}.`);
  try {
    await promisify(execFile)('debugfs', ['-R', `rdump / ${temporary}`, disk], { signal, maxBuffer: 64 * 1024 * 1024 });
    await rename(temporary, root);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
  return root;
}
