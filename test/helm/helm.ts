import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { clientPrograms } from '../control-plane/clients.ts';

/** Runs helm (https://helm.sh); rejects with what it printed, and resolves to its standard output. */
export type Helm = (args: readonly string[]) => Promise<string>;

/** The value without which the chart refuses. Values that a test gives take precedence. */
const VALUES = 'image: {repository: localhost/nodemaint}\n';

/** The helm of the tests, with the cluster of this kubeconfig, if one is given. It reads no settings of the user. */
export async function createHelm(
  { folder, kubeconfig = '' }: { readonly folder: string; readonly kubeconfig?: string },
  signal: AbortSignal,
): Promise<Helm> {
  const { helm } = await clientPrograms(signal);
  const env = { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: kubeconfig };
  const values = path.join(folder, 'image.yaml');
  await writeFile(values, VALUES);
  return async ([command = '', ...args]) => {
    const options = { env, signal, maxBuffer: 64 * 1024 * 1024 };
    const given = ['template', 'install', 'upgrade', 'lint'].includes(command) ? ['--values', values] : [];
    return (await promisify(execFile)(helm, [command, ...given, ...args], options)).stdout;
  };
}
