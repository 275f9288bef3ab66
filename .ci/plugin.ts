/**
 * The plugin of kubectl for a laptop: an archive for each system, with the commands of the program and without the agent; and
 * the manifest by which krew installs them. docs/adr/0026-kubectl-plugin.md says why they are as they are.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { gzipSync } from 'node:zlib';
import { stringify } from 'yaml';
import packageJson from '../package.json' with { type: 'json' };
import { type Architecture, ARCHITECTURES, nodeBinary, nodeFolder } from './architecture.ts';
import { completions, manualPages } from './manual.ts';
import { tarOf, type TarFile } from './tar.ts';

const ROOT = path.join(import.meta.dirname, '..');
/** Where the files of the release will be for download: whoever publishes it says so. */
const RELEASE_URL = process.env['RELEASE_URL'] ?? `https://releases.nodemaint.invalid/v${packageJson.version}`;
const HOMEPAGE = 'https://github.com/kubernetes/enhancements/issues/4212';

/** An archive of the plugin. */
export interface PluginArchive {
  readonly name: string;
  readonly data: Buffer;
  /** The systems that it is for, as Go and krew name them. */
  readonly platforms: readonly { readonly os: 'linux' | 'darwin'; readonly arch: Architecture }[];
}

async function fileOf(name: string, source: string, mode = 0o644): Promise<TarFile> {
  return { name, mode, data: await readFile(path.join(ROOT, source)) };
}

/** What every archive has: it runs on each system that has Node.js. */
async function commonFiles(): Promise<readonly TarFile[]> {
  const completion = completions('site-functions').find(({ name }) => name === 'bin/kubectl_complete-nodemaint');
  return [
    await fileOf('kubectl-nodemaint', '.ci/kubectl-nodemaint', 0o755),
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

function archiveOf(system: string, files: readonly TarFile[]): Pick<PluginArchive, 'name' | 'data'> {
  const name = `kubectl-nodemaint-${packageJson.version}-${system}.tar.gz`;
  return { name, data: gzipSync(tarOf(files), { level: 9 }) };
}

/** The archives for a system: for Linux one with Node.js for each architecture, for macOS a small one without it. */
export async function pluginArchives(os: 'linux' | 'darwin'): Promise<readonly PluginArchive[]> {
  const common = await commonFiles();
  if (os === 'darwin') return [{ ...archiveOf(os, common), platforms: ARCHITECTURES.map((arch) => ({ os, arch })) }];
  const made = ARCHITECTURES.map(async (arch) => ({
    ...archiveOf(`${os}-${arch}`, [...common, ...(await nodeFiles(arch))]),
    platforms: [{ os, arch }],
  }));
  return await Promise.all(made);
}

/** The manifest of krew, which names the archives with their hashes. */
export function krewManifest(archives: readonly PluginArchive[]): string {
  const platforms = archives.flatMap(({ name, data, platforms: all }) =>
    all.map(({ os, arch }) => ({
      selector: { matchLabels: { os, arch } },
      uri: `${RELEASE_URL}/${name}`,
      sha256: createHash('sha256').update(data).digest('hex'),
      bin: 'kubectl-nodemaint',
    })),
  );
  const manifest = {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'nodemaint' },
    spec: {
      version: `v${packageJson.version}`,
      homepage: HOMEPAGE,
      shortDescription: 'Drain nodes in order and give them back',
      description:
        'Takes nodes out of use and gives them back, as "kubectl drain" and "uncordon" do, by NodeMaintenance\n' +
        'objects: in order, with interceptors, and with a record that others see. The cluster needs the\n' +
        'controller of node-maintenance-agent.\n',
      caveats: 'On macOS it needs Node.js 22 or later in the PATH. On Linux it brings its own.\n',
      platforms,
    },
  };
  return stringify(manifest, { lineWidth: 0 });
}
