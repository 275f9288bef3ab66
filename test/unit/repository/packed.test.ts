import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { build } from 'esbuild';
import { packLibraries } from '../../../.ci/packed.ts';
import { packageFolders } from '../../../.ci/provenance.ts';
import { temporaryFolder } from '../../support/folder.ts';

const ENTRY = `
  exports.load = async () => {
    const grpc = await import('@grpc/grpc-js');
    const { fromJSON } = await import('@grpc/proto-loader');
    return { client: new grpc.Client('unix:///nonexistent', grpc.credentials.createInsecure()), fromJSON, again: await import('@grpc/grpc-js'), grpc };
  };
  exports.fail = async () => new (await import('@grpc/grpc-js')).Client('unix:///nonexistent', 'no credentials');`;

interface Library {
  readonly Client: unknown;
}

interface Entry {
  load(): Promise<{ client: { close(): void }; fromJSON: unknown; again: Library; grpc: Library }>;
  fail(): Promise<unknown>;
}

describe('the packed libraries of the agent', () => {
  it('they are loaded from the text of the bundle, once, and a stack trace names them', async (t) => {
    const folder = await temporaryFolder(t, 'packed');
    const options = { bundle: true, platform: 'node', format: 'cjs', target: 'node24', minify: true } as const;
    const bundleOf = async (name: string): Promise<string> => {
      const packed = packLibraries(options);
      const outfile = path.join(folder, name);
      const stdin = { contents: ENTRY, resolveDir: import.meta.dirname };
      const { metafile } = await build({ ...options, stdin, outfile, plugins: [packed.plugin], metafile: true });
      assert.deepEqual(packageFolders(metafile), []);
      assert.ok(packageFolders(packed.metafile()).includes('node_modules/@grpc/grpc-js'));
      return outfile;
    };
    const [file, same] = [await bundleOf('a.cjs'), await bundleOf('b.cjs')];
    const text = await readFile(file, 'utf8');
    assert.equal(text, await readFile(same, 'utf8'));
    assert.ok(text.length < 200_000, `${text.length}`);
    const { load, fail } = createRequire(import.meta.url)(file) as Entry;
    const { client, fromJSON, grpc, again } = await load();
    client.close();
    assert.equal(typeof fromJSON, 'function');
    assert.equal(grpc.Client, again.Client);
    await assert.rejects(fail, (error: Error) => error.stack?.includes('/agent.cjs/grpc:') === true);
  });
});
