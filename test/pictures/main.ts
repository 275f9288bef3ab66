/**
 * Makes the pictures of the documentation from real runs: `npm run pictures`, as root, in a few minutes. Look at them
 * before you commit them.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { dashboardPicture } from './dashboard.ts';
import { fleetPictures } from './fleet.ts';
import { machinePicture } from './machine.ts';
import { shutdownPicture } from './shutdown.ts';

const FOLDER = path.join(import.meta.dirname, '..', '..', 'docs', 'pictures');
const LIMIT_MS = 600_000;

const SCENES: Readonly<Record<string, (signal: AbortSignal) => Promise<Readonly<Record<string, string>>>>> = {
  fleet: fleetPictures,
  shutdown: async (signal) => ({ 'report.svg': await shutdownPicture(signal) }),
  dashboard: async (signal) => ({ 'dashboard.svg': await dashboardPicture(signal) }),
  machine: async () => ({ 'report.svg': await machinePicture() }),
};
/** Made only where they are named: they need a virtual machine, and take a quarter of an hour without KVM. */
const ONLY_BY_NAME = new Set(['machine']);

const wanted = process.argv.slice(2);
await mkdir(FOLDER, { recursive: true });
for (const [name, make] of Object.entries(SCENES)) {
  if (wanted.length === 0 ? ONLY_BY_NAME.has(name) : !wanted.includes(name)) continue;
  for (const [file, text] of Object.entries(await make(AbortSignal.timeout(LIMIT_MS)))) {
    await writeFile(path.join(FOLDER, file), text);
    console.log(`docs/pictures/${file}`);
  }
}
