/**
 * `npm run pins`: writes the hashes of what a release takes from others as it is now: the Node.js of package.json, and the
 * newest packages of this machine's release of Debian. Look at the difference before it is committed.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ARCHITECTURES, nodeFolder, nodeName } from '../architecture.ts';
import { newestPackages } from '../debian.ts';
import { sha256, writePins } from './pins.ts';

const node = new Map<string, string>();
const debian = new Map<string, string>();
for (const architecture of ARCHITECTURES) {
  node.set(nodeName(architecture), sha256(await readFile(path.join(await nodeFolder(architecture), 'bin', 'node'))));
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-pins-'));
  try {
    for (const [name, sum] of await newestPackages(architecture, folder)) debian.set(name, sum);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
await writePins('node', node);
await writePins('debian', debian);
