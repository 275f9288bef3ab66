/**
 * `npm run build`: bundles the program into one file, dist/nodemaint.cjs, that runs with nothing but Node.js, and the kit
 * for interceptors into another, dist/interceptor.cjs. Beside them: the licences of the packages in them, and the software bill
 * of materials.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { build, type OnResolveArgs, type OnResolveResult, type Plugin } from 'esbuild';
import { bomComponentOf, bomOf, componentsOf, noticesOf } from './provenance.ts';

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

const { metafile } = await build({
  entryPoints: { nodemaint: 'src/main.ts', interceptor: 'src/interceptor.ts' },
  outdir: 'dist',
  outExtension: { '.js': '.cjs' },
  bundle: true,
  platform: 'node',
  target: 'node24',
  // Not ESM: there every import of a Node.js module by anything in the bundle, used or not, is loaded at start, with the
  // lazy getters of each evaluated, fetch and the cluster module among them: 20 MB of an idle agent.
  format: 'cjs',
  minify: true,
  metafile: true,
  // The licences are in THIRD_PARTY_NOTICES: in the bundle every agent would load them.
  legalComments: 'none',
  banner: { js: '/* Apache-2.0. The licences of the packages in this file: THIRD_PARTY_NOTICES */' },
  // Optional native helpers of dbus-next that this program does without.
  external: ['usocket', 'abstract-socket', 'x11'],
  plugins: [lean],
});

const components = await componentsOf(path.join(import.meta.dirname, '..'), metafile);
await writeFile('dist/THIRD_PARTY_NOTICES', noticesOf(components));
await writeFile('dist/nodemaint.cdx.json', bomOf(components.map(bomComponentOf)));
