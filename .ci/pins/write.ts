/**
 * `npm run pins`: writes the hashes of what a release takes from others as it is now: the Node.js of package.json, and the
 * newest packages of this machine's release of Debian. It also adds hashes to package-lock.json that npm has left out. Look at
 * the difference before it is committed.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { ARCHITECTURES, nodeFolder, nodeName } from '../architecture.ts';
import { newestPackages } from '../debian.ts';
import { fillHashes, type Lock } from './lock.ts';
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

/** What the registry says is the hash of a package; undefined where it does not have it. */
async function askNpm(nameWithVersion: string): Promise<string | undefined> {
  const asked = promisify(execFile)('npm', ['view', nameWithVersion, 'dist.integrity']);
  return await asked.then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
}

const LOCK = path.join(import.meta.dirname, '..', '..', 'package-lock.json');
const { lock, unknown } = await fillHashes(JSON.parse(await readFile(LOCK, 'utf8')) as Lock, askNpm);
await writeFile(LOCK, `${JSON.stringify(lock, undefined, 2)}\n`);
if (unknown.length > 0) console.warn(`npm knows no hash of ${unknown.join(', ')}`);
