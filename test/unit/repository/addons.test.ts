/** An add-on is a program of its own: the core knows nothing of it, and it knows of the core only the APIs. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { addonOf, fileImports, forbiddenImports } from '../../structure/addons.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const COMMAND_LINE = 'src/cli/program.ts';
/** What is installed of each add-on, for `nodemaint check`. */
const TABLE = 'src/addons/installed.ts';
const ADDONS = globSync('src/addons/*/', { cwd: ROOT }).map((folder) => path.basename(folder));

const FORBIDDEN: readonly [string, string, string][] = [
  ['the controller imports an add-on', 'src/controller/leader/leader-loops.ts', 'src/addons/surge/surge.ts'],
  ['the command line imports more of an add-on than its subcommand', COMMAND_LINE, 'src/addons/surge/surge.ts'],
  ['an add-on imports the controller', 'src/addons/surge/surge.ts', 'src/controller/leader/leader-loops.ts'],
  ['an add-on imports the agent', 'src/addons/surge/surge.ts', 'src/agent/loop.ts'],
  ['an add-on imports a rule of the core', 'src/addons/surge/surge.ts', 'src/decide/eviction/request.ts'],
  ['an add-on imports the command line', 'src/addons/surge/program.ts', 'src/cli/arguments/options.ts'],
  ['an add-on imports another one', 'src/addons/surge/surge.ts', 'src/addons/other/other.ts'],
  ['a test of the core imports an add-on', 'test/unit/decide/pod.test.ts', 'src/addons/surge/surge.ts'],
];

const ALLOWED: readonly [string, string, string][] = [
  ['the command line imports the subcommand', COMMAND_LINE, 'src/addons/surge/program.ts'],
  ['an add-on imports the APIs', 'src/addons/surge/surge.ts', 'src/api/pod.ts'],
  ['an add-on imports the kit', 'src/addons/surge/surge.ts', 'src/kube/eviction/interceptor-loop.ts'],
  ['an add-on imports its own folder', 'src/addons/surge/surge.ts', 'src/addons/surge/decide/record.ts'],
  ['a test of an add-on imports it', 'test/integration/addons/surge.test.ts', 'src/addons/surge/api/names.ts'],
  ['a test of an add-on imports a helper', 'test/unit/addons/surge/x.test.ts', 'test/support/wait-for.ts'],
];

describe('the check of the imports of add-ons', () => {
  for (const [what, from, to] of FORBIDDEN) {
    it(`it refuses that ${what}`, () => {
      assert.equal(forbiddenImports([{ from, to }]).length, 1);
    });
  }
  for (const [what, from, to] of ALLOWED) {
    it(`it allows that ${what}`, () => {
      assert.deepEqual(forbiddenImports([{ from, to }]), []);
    });
  }
});

describe('the add-ons', () => {
  it('no file of the core imports an add-on, and no add-on imports more than the APIs, the clients and values', async () => {
    assert.ok(ADDONS.includes('surge'));
    assert.deepEqual(forbiddenImports(await fileImports(ROOT)), []);
  });

  it('the command line imports the subcommand of each add-on, and calls it in one line', async () => {
    const text = await readFile(path.join(ROOT, COMMAND_LINE), 'utf8');
    for (const name of ADDONS) {
      const imported = new RegExp(`^import \\{ (add\\w+) \\} from '\\.\\./addons/${name}/program\\.ts';$`, 'm').exec(
        text,
      );
      const uses = text.match(new RegExp(`\\b${imported?.[1]}\\b`, 'g')) ?? [];
      assert.equal(uses.length, 2, `${name}: one import and one call`);
    }
  });

  it('nothing else of the source but the table of what is installed names an add-on', async () => {
    const files = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => addonOf(file) === undefined);
    // The bare word may be one of Kubernetes, too: the folder, the subcommand, and the account and the Deployment are ours.
    const names = new RegExp(`(?:addons/|nodemaint[- ])(?:${ADDONS.join('|')})\\b`);
    for (const file of files.filter((each) => each !== COMMAND_LINE && each !== TABLE)) {
      const line = (await readFile(path.join(ROOT, file), 'utf8')).split('\n').find((each) => names.test(each));
      assert.equal(line, undefined, file);
    }
  });
});
