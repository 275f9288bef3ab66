/**
 * `npm run publish -- KEY`: publishes the version of package.json from the commit that is checked out, with the secret key of
 * minisign in the file KEY. It dates the change log, makes and signs the release, puts it into a draft at the forge, and
 * pushes the tag. Then .github/workflows/release.yaml makes the same bytes once more, pushes image and chart, and publishes
 * the draft. `--dry-run` stops before anything is changed. Needs git, gh and minisign, and what `npm run release` needs.
 */
import { execFileSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };

const ROOT = path.join(import.meta.dirname, '..');
const CHANGELOG = path.join(ROOT, 'CHANGELOG.md');
const MUST = '### What you must do';

/** The change log with a date at the heading of a version that has none. Throws an Error where it has no such heading. */
export function datedChangelog(changelog: string, version: string, date: string): string {
  const heading = new RegExp(`^## ${version.replaceAll('.', String.raw`\.`)}( - \\d{4}-\\d\\d-\\d\\d)?$`, 'm');
  if (!heading.test(changelog)) throw new Error(`CHANGELOG.md has no heading "## ${version}"`);
  return changelog.replace(heading, (_, dated: string | undefined) => `## ${version}${dated ?? ` - ${date}`}`);
}

/** What the change log says of a version. Throws an Error where that does not begin with what the user must do. */
export function notesOf(changelog: string, version: string): string {
  const entry = changelog.split(/^## /m).find((each) => each.startsWith(`${version} `) || each.startsWith(`${version}\n`));
  const notes = entry?.slice(entry.indexOf('\n')).trim() ?? '';
  if (!notes.startsWith(MUST)) throw new Error(`the entry of ${version} in CHANGELOG.md does not begin with "${MUST}"`);
  return notes;
}

function say(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

function run(program: string, ...args: readonly string[]): void {
  execFileSync(program, args, { cwd: ROOT, stdio: 'inherit' });
}

/** Publishes; with `isDry` it says what it would publish. Throws an Error where something is missing. */
async function publish(key: string, isDry: boolean): Promise<void> {
  const { version } = packageJson;
  const tag = `v${version}`;
  if (say('git', 'status', '--porcelain') !== '') throw new Error('the checkout has changes that are not committed');
  if (say('git', 'tag', '--list', tag) !== '') throw new Error(`there is a tag ${tag} already; set another version in package.json`);
  await readFile(key);
  const before = await readFile(CHANGELOG, 'utf8');
  const changelog = datedChangelog(before, version, new Date().toISOString().slice(0, 10));
  const notes = notesOf(changelog, version);
  if (isDry) {
    console.log(`${tag} would be published with:\n\n${notes}`);
    return;
  }
  // The forge knows where image and sources are; the workflow reads the same variables.
  process.env['IMAGE_REPOSITORY'] = say('gh', 'variable', 'get', 'IMAGE_REPOSITORY');
  process.env['SOURCE_URL'] = say('gh', 'repo', 'view', '--json', 'url', '--jq', '.url');
  if (changelog !== before) {
    await writeFile(CHANGELOG, changelog);
    run('git', 'commit', '--quiet', '--message', `Version ${version}`, 'CHANGELOG.md');
  }
  run('npm', 'run', 'release');
  run('npm', 'run', 'sign', '--', path.resolve(key));
  const folder = path.join(ROOT, 'dist', 'release');
  const files = (await readdir(folder)).map((name) => path.join(folder, name));
  // Before the tag, whose push starts the workflow.
  run('gh', 'release', 'create', tag, '--draft', '--title', tag, '--notes', notes, ...files);
  run('git', 'tag', '--annotate', '--message', `Version ${version}`, tag);
  run('git', 'push', '--atomic', 'origin', 'HEAD', tag);
  console.log(`${tag} is pushed; the workflow "release" makes the rest: gh run watch`);
}

if (process.argv[1] === import.meta.filename) {
  const { values, positionals } = parseArgs({ options: { 'dry-run': { type: 'boolean' } }, allowPositionals: true });
  const [key] = positionals;
  try {
    if (key === undefined || positionals.length > 1) throw new Error('usage: npm run publish -- KEY [--dry-run]; KEY is the file of a secret key of minisign');
    await publish(key, values['dry-run'] === true);
  } catch (error) {
    console.error(`publish: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
