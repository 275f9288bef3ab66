/**
 * The plugin of kubectl for a laptop with Linux: an archive for each architecture, with Node.js and the commands of the program,
 * without the agent.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import packageJson from '../package.json' with { type: 'json' };
import { type Architecture, ARCHITECTURES, nodeBinary, nodeFolder } from './architecture.ts';
import { completions, manualPages } from './manual.ts';
import { tarOf, type TarFile } from './tar.ts';

const ROOT = path.join(import.meta.dirname, '..');
/** An archive of the plugin. */
export interface PluginArchive {
  readonly name: string;
  readonly data: Buffer;
  readonly architecture: Architecture;
}

async function fileOf(name: string, source: string, mode = 0o644): Promise<TarFile> {
  return { name, mode, data: await readFile(path.join(ROOT, source)) };
}

/** What every archive has. */
async function commonFiles(): Promise<readonly TarFile[]> {
  const completion = completions('site-functions').find(({ name }) => name === 'bin/kubectl_complete-nodemaint');
  return [
    await fileOf('kubectl-nodemaint', 'systemd/libexec/nodemaint', 0o755),
    await fileOf('nodemaint.cjs', 'dist/nodemaint.cjs'),
    await fileOf('commands.cjs', 'dist/commands.cjs'),
    await fileOf('LICENSE', 'LICENSE'),
    await fileOf('NOTICE', 'NOTICE'),
    await fileOf('THIRD_PARTY_NOTICES', 'dist/THIRD_PARTY_NOTICES'),
    ...(completion === undefined ? [] : [{ ...completion, name: 'kubectl_complete-nodemaint' }]),
    ...manualPages().map((page) => ({ ...page, name: `man/${page.name}` })),
  ];
}

async function nodeFiles(architecture: Architecture): Promise<readonly TarFile[]> {
  const folder = await nodeFolder(architecture);
  return [
    { name: 'node', mode: 0o755, data: await nodeBinary(architecture) },
    { name: 'NODE_LICENSE', mode: 0o644, data: await readFile(path.join(folder, 'LICENSE')) },
  ];
}

/** The archives, one for each architecture. */
export async function pluginArchives(): Promise<readonly PluginArchive[]> {
  const common = await commonFiles();
  const made = ARCHITECTURES.map(async (architecture) => ({
    name: `kubectl-nodemaint-${packageJson.version}-linux-${architecture}.tar.gz`,
    architecture,
    data: gzipSync(tarOf([...common, ...(await nodeFiles(architecture))]), { level: 9 }),
  }));
  return await Promise.all(made);
}
