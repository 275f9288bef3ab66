/** Advice of `nodemaint doctor`, followed to the letter on this machine: the check that gave it is content afterwards. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Check } from '../../../src/show/checks/node-checks.ts';
import { runNodemaint } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { serveCri } from '../../support/stand-ins/static-pod-runtime.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';

interface Place {
  readonly folder: string;
  /** Writes the configuration with these keys beside the usual ones. */
  configure(keys?: object): Promise<void>;
  readonly stack: AsyncDisposableStack;
}

/** One advice: the check that gives it, what makes it so, the words of the advice, and what following them is. */
interface Advice {
  readonly check: string;
  readonly provoke: (place: Place) => Promise<void>;
  readonly words: RegExp;
  readonly follow: (place: Place, found: Check) => Promise<void>;
}

/** Runs what follows `mkdir` in the advice. */
async function makeAsTold(fix: string): Promise<void> {
  const [, mode, folder] = /mkdir (?:-m (\d+) )?(\/[^\s,;]+)/.exec(fix) ?? [];
  assert.ok(folder !== undefined, fix);
  await mkdir(folder, mode === undefined ? {} : { mode: Number.parseInt(mode, 8) });
}

const ADVICE: readonly Advice[] = [
  {
    check: 'static pods',
    provoke: (place) => place.configure(),
    words: /^mkdir .*manifests, or set the key "staticPodPath"$/,
    follow: (_, { fix }) => makeAsTold(fix),
  },
  {
    check: 'static pods',
    provoke: async ({ folder, configure }) => {
      await configure();
      await mkdir(path.join(folder, 'manifests'));
      await chmod(path.join(folder, 'manifests'), 0o777);
    },
    words: /^do what the message says; the agent notices it without a restart$/,
    follow: async (_, { message }) => {
      const [, what = ''] = /: chmod go-w (\/\S+)$/.exec(message) ?? [];
      await promisify(execFile)('chmod', ['go-w', what]);
    },
  },
  {
    check: 'state directory',
    provoke: (place) => place.configure(),
    words: /mkdir -m 0700 .*state$/,
    follow: (_, { fix }) => makeAsTold(fix),
  },
  {
    check: 'runtime',
    provoke: ({ folder, configure }) => configure({ containerRuntimeEndpoint: `unix://${folder}/other.sock` }),
    words: /^correct the key "containerRuntimeEndpoint"/,
    follow: async ({ folder, configure, stack }) => {
      stack.use(await serveCri(path.join(folder, 'cri.sock'), () => []));
      await configure();
    },
  },
  {
    check: 'API server',
    provoke: ({ folder, configure }) => configure({ kubeconfig: path.join(folder, 'none') }),
    words: /^correct the key "kubeconfig"/,
    follow: ({ configure }) => configure({ kubeconfig: '' }),
  },
];

describe('the advice of nodemaint doctor', () => {
  for (const { check, provoke, words, follow } of ADVICE) {
    it(`the check "${check}" is content when its advice was followed: ${words.source}`, async () => {
      await using stack = new AsyncDisposableStack();
      const folder = await makeTestFolder('advice');
      stack.defer(() => rm(folder, { recursive: true }));
      const base = { nodeName: 'n', kubeletHealthz: undefined };
      let config = '';
      const configure = async (keys: object = {}): Promise<void> => {
        config = (await writeAgentFiles(folder, { ...base, ...keys })).configFile;
      };
      const examine = async (): Promise<Check> => {
        const { stdout, stderr } = await runNodemaint(['doctor', '--config', config, '-o', 'json']);
        const { items } = JSON.parse(stdout) as { readonly items: readonly Check[] };
        const found = items.find(({ name }) => name === check);
        assert.ok(found !== undefined, `${stdout}${stderr}`);
        return found;
      };
      const place = { folder, configure, stack };
      await provoke(place);
      const before = await examine();
      assert.notEqual(before.result, 'ok', before.message);
      assert.match(before.fix, words);
      await follow(place, before);
      const after = await examine();
      assert.equal(after.result, 'ok', `${after.message}; ${after.fix}`);
    });
  }
});
