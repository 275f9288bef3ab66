/**
 * `npm run build`: bundles the program into files of one folder that run with nothing but Node.js. dist/nodemaint.cjs loads
 * dist/agent.cjs for the agent, with dist/kubeconfig.cjs for kubeconfigs that are not plain, and dist/commands.cjs for every
 * other command. The kit for interceptors is dist/interceptor.cjs. Beside them: the licences of the packages in
 * them, and the software bill of materials.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { build, type BuildOptions, type Metafile, type OnResolveArgs, type OnResolveResult, type Plugin } from 'esbuild';
import { bomComponentOf, bomOf, componentsOf, nodeComponents, noticesOf } from './provenance.ts';
import { sourceOf } from './source.ts';

const CLIENT = '@kubernetes/client-node';
const UNUSED_UNDICI = ['Agent', 'ProxyAgent', 'fetch'].map((name) => `export const ${name} = undefined;`).join('\n');
const RESOLVED = Symbol('resolved');

/**
 * The Kubernetes client re-exports every API class and does not say that its modules have no side effects, so a bundle
 * would carry, and every agent would load, all of them. Only its configuration and authentication are used.
 */
const lean: Plugin = {
  name: 'lean-kubernetes-client',
  setup: (bundler) => {
    const resolve = async (args: OnResolveArgs): Promise<OnResolveResult | undefined> => {
      const inClient = args.path === CLIENT || args.importer.includes(path.join('node_modules', CLIENT));
      if (args.pluginData === RESOLVED || !inClient) return undefined;
      const { kind, importer, resolveDir } = args;
      const found = await bundler.resolve(args.path, { kind, importer, resolveDir, pluginData: RESOLVED });
      return { ...found, sideEffects: false };
    };
    bundler.onResolve({ filter: /^(\.|@kubernetes\/client-node$)/ }, resolve);
    // It needs undici for calls of its own only; 0.7 MB for classes that are never made.
    bundler.onResolve({ filter: /^undici$/ }, () => ({ path: 'undici', namespace: 'unused' }));
    bundler.onLoad({ filter: /.*/, namespace: 'unused' }, () => ({ contents: UNUSED_UNDICI }));
  },
};

const ROOT = path.join(import.meta.dirname, '..');
/** The modules that the program loads when it needs them, by the file of dist that each becomes. */
const PARTS: Readonly<Record<string, string>> = {
  'src/cli/agent.ts': './agent.cjs',
  'src/cli/program.ts': './commands.cjs',
  'src/kube/access/library.ts': './kubeconfig.cjs',
};

/**
 * Files of their own for parts of the program. Node.js keeps the text of each file that it loads, and a closure for each
 * function in it; in one file those of the commands and the controller would be half of an idle agent's heap. Each part has
 * a copy of what it shares with the others. The agent loads its parts at its start only: an upgrade of the files, or a disk
 * that fails later, takes nothing away from an agent that runs.
 */
const parts: Plugin = {
  name: 'parts',
  setup: (bundler) => {
    bundler.onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, ({ path: specifier, resolveDir, kind }) => {
      if (kind !== 'dynamic-import') return undefined;
      const part = PARTS[path.relative(ROOT, path.join(resolveDir, specifier))];
      return part === undefined ? undefined : { path: part, external: true };
    });
  },
};

/** What pino loads for its transports, with a thread for each: this program has none. */
const unused: Plugin = {
  name: 'unused',
  setup: (bundler) => {
    const namespace = 'unused-module';
    bundler.onResolve({ filter: /^thread-stream$/ }, ({ path: name }) => ({ path: name, namespace }));
    bundler.onLoad({ filter: /.*/, namespace }, () => ({ contents: '' }));
  },
};

const source = await sourceOf();

const OPTIONS = {
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  define: { NODEMAINT_COMMIT: JSON.stringify(source.commit) },
  target: 'node24',
  // Not ESM: there every import of a Node.js module by anything in the bundle, used or not, is loaded at start, with the
  // lazy getters of each evaluated, fetch and the cluster module among them: 20 MB of an idle agent.
  format: 'cjs',
  // Of a file that is not in the bundle: by require(), which does not load the module system of ESM.
  supported: { 'dynamic-import': false },
  minify: true,
  metafile: true,
  // The licences are in THIRD_PARTY_NOTICES: in the bundle every agent would load them.
  legalComments: 'none',
  banner: { js: '/* Apache-2.0. The licences of the packages in this file: THIRD_PARTY_NOTICES */' },
  // Optional native helpers of dbus-next that this program does without.
  external: ['usocket', 'abstract-socket', 'x11'],
} as const satisfies BuildOptions;

const agent = { nodemaint: 'src/main.ts', agent: 'src/cli/agent.ts', kubeconfig: 'src/kube/access/library.ts' };
const others = { commands: 'src/cli/program.ts', interceptor: 'src/interceptor.ts' };
const { metafile: first } = await build({ ...OPTIONS, entryPoints: agent, plugins: [lean, unused, parts] });
const { metafile: second } = await build({ ...OPTIONS, entryPoints: others, plugins: [lean, unused] });

const metafiles = [first, second];
const inputs = Object.assign({}, ...metafiles.map((metafile) => metafile.inputs)) as Metafile['inputs'];
const outputs = Object.assign({}, ...metafiles.map((metafile) => metafile.outputs)) as Metafile['outputs'];
const components = await componentsOf(ROOT, { inputs, outputs });
await writeFile('dist/THIRD_PARTY_NOTICES', noticesOf(components));
await writeFile('dist/nodemaint.cdx.json', bomOf([...nodeComponents(), ...components.map(bomComponentOf)], source));
