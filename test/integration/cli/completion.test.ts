/** Completion in the real shells: each loads the script as docs/reference/commands.md says, and completes a line. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { PROGRAM } from '../../support/commands/program.ts';

const TIMEOUT_MS = 60_000;

/** Types into an interactive zsh and prints the line that it then has; the completion is asked for with a tab. */
const ZSH = `
zmodload zsh/zpty
zpty shell 'PS1= zsh -f -i'
zpty -w shell 'autoload -U compinit; compinit -u -D; source <(nodemaint completion zsh); show() { print -r -- "LINE<$BUFFER>"; }; zle -N show; bindkey "^X" show; echo LOADED'
zpty -m -r shell loaded '*LOADED*LOADED*'
zpty -w -n shell "$1"$'\\t'
zpty -w -n shell $'\\x18'
zpty -m -r shell out '*LINE<*>*'
print -r -- "$out"
`;

describe('completion in the shells of people', () => {
  let bin: string;
  const run = async (program: string, ...args: string[]): Promise<string> => {
    const env = { ...process.env, PATH: `${bin}:${process.env['PATH']}`, TERM: 'dumb', HOME: bin, KUBECONFIG: '/none' };
    return (await promisify(execFile)(program, args, { env, timeout: TIMEOUT_MS })).stdout;
  };

  before(async () => {
    bin = await mkdtemp(path.join(tmpdir(), 'nodemaint-shells-'));
    const command = `#!/bin/sh\nexec '${process.execPath}' ${PROGRAM.join(' ')} "$@"\n`;
    await writeFile(path.join(bin, 'nodemaint'), command, { mode: 0o755 });
  });
  after(async () => {
    await rm(bin, { recursive: true });
  });

  it('bash completes verbs, flags and their values', async () => {
    const complete = async (...words: string[]): Promise<string> => {
      const script =
        'source <(nodemaint completion bash); COMP_WORDS=(nodemaint "$@"); COMP_CWORD=$#; _nodemaint; printf "%s " "${COMPREPLY[@]}"';
      return await run('bash', '-c', script, 'bash', ...words);
    };
    assert.equal(await complete('dr'), 'drain ');
    assert.equal(await complete('drain', '--reas'), '--reason ');
    assert.equal(await complete('drain', '--output', 'j'), 'json ');
  });

  it('fish completes them with their descriptions', async () => {
    const complete = async (line: string): Promise<string> =>
      await run('fish', '-c', 'nodemaint completion fish | source; complete -C $argv[1]', line);
    assert.match(await complete('nodemaint dr'), /^drain\t\S.*\n$/);
    assert.match(await complete('nodemaint drain --reas'), /^--reason\t\S.*\n$/);
  });

  it('zsh completes them', async () => {
    assert.match(await run('zsh', '-f', '-c', ZSH, 'zsh', 'nodemaint dr'), /LINE<nodemaint drain ?>/);
    const text = await run('zsh', '-f', '-c', ZSH, 'zsh', 'nodemaint drain --reas');
    assert.match(text, /LINE<nodemaint drain --reason ?>/);
  });
});
