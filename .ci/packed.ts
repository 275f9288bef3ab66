/** Libraries that the bundle has as compressed text: an idle agent keeps neither their text nor their functions in its memory. */
import { brotliCompressSync } from 'node:zlib';
import { build, type BuildOptions, type Metafile, type Plugin } from 'esbuild';

/** They refer to each other, so they are one text. The runtime of the containers is asked through them. */
const PACKED = ['@grpc/grpc-js', '@grpc/proto-loader'];
/** What the stack traces call the text. */
const NAME = 'agent.cjs/grpc';

export interface Packed {
  readonly plugin: Plugin;
  /** What the compressed text is made of; empty before the plugin has run. */
  readonly metafile: () => Metafile;
}

/** The module that inflates and compiles the text, at its first use. It is a part of the bundle, so no file is read then. */
function moduleOf(text: string): string {
  const packed = brotliCompressSync(text).toString('base64');
  return `const { brotliDecompressSync } = require('node:zlib');
    const { compileFunction } = require('node:vm');
    const text = brotliDecompressSync(Buffer.from('${packed}', 'base64')).toString();
    const names = ['exports', 'require', 'module', '__filename', '__dirname'];
    const filename = require('node:path').join(__dirname, '${NAME}');
    compileFunction(text, names, { filename })(exports, (id) => require(id), module, __filename, __dirname);`;
}

/** Packs the libraries of a bundle; `options` are those of the bundle itself. */
export function packLibraries({ banner: _, outdir: __, ...options }: BuildOptions): Packed {
  let metafile: Metafile = { inputs: {}, outputs: {} };
  const whole = 'packed-whole';
  const plugin: Plugin = {
    name: 'packed',
    setup: (bundler) => {
      const one = new RegExp(`^(${PACKED.join('|')})$`);
      bundler.onResolve({ filter: one }, ({ path: name, namespace }) =>
        namespace === whole ? undefined : { path: name, namespace: 'packed' },
      );
      bundler.onLoad({ filter: /.*/, namespace: 'packed' }, ({ path: name }) => ({
        contents: `module.exports = require('${whole}')['${name}'];`,
      }));
      bundler.onResolve({ filter: new RegExp(`^${whole}$`) }, ({ path: name }) => ({ path: name, namespace: whole }));
      bundler.onLoad({ filter: /.*/, namespace: whole }, async () => {
        const contents = PACKED.map((name) => `exports['${name}'] = require('${name}');`).join('\n');
        const resolveDir = bundler.initialOptions.absWorkingDir ?? process.cwd();
        const inner = { ...options, stdin: { contents, resolveDir }, outfile: NAME, write: false, metafile: true } as const;
        const built = await build(inner);
        metafile = built.metafile;
        return { contents: moduleOf(built.outputFiles[0]?.text ?? '') };
      });
    },
  };
  return { plugin, metafile: () => metafile };
}
