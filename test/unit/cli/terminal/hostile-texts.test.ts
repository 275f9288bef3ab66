import assert from 'node:assert/strict';
import { once } from 'node:events';
import { glob, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { AgentStatus } from '../../../../src/agent/control/status.ts';
import { runCommandLine } from '../../../../src/cli/program.ts';
import { createTerminal, type Terminal } from '../../../../src/cli/terminal/terminal.ts';
import { escaped, escapedLine } from '../../../../src/printable.ts';
import { inSandbox } from '../../../support/agent/sandbox.ts';
import {
  HOSTILE,
  type HostileApiServer,
  NAMES,
  startHostileApiServer,
} from '../../../support/stand-ins/hostile-api-server.ts';

const STEERING = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/u;

interface Shown {
  readonly output: string;
  readonly errors: string;
}

/** A terminal that keeps what is written to it. */
function witness(isTTY: boolean): { readonly terminal: Terminal; shown(): Shown } {
  const texts = { output: '', errors: '' };
  const stream = (name: keyof typeof texts): { write(text: string): void } => ({
    write: (text) => (texts[name] += text),
  });
  const { signal } = new AbortController();
  const output = { ...stream('output'), isTTY, columns: 200, rows: 60, hasColors: () => false };
  const terminal = createTerminal({ output, errors: stream('errors'), now: Date.now, stop: signal, signal });
  return { terminal, shown: () => texts };
}

/** Fails where a text could steer a terminal, or where a line is forged; the blocks of the program are drawn anew. */
function assertHarmless({ output, errors }: Shown, what: string): void {
  const text = output.replaceAll(/\p{Cc}{2}\[\d+A\p{Cc}\[0J/gu, '') + errors;
  assert.match(text, /EVIL/, `${what} shows what somebody else has written`);
  assert.doesNotMatch(text, STEERING, what);
  assert.doesNotMatch(text, /^(node\/forged|all is well)/mu, `${what} keeps it on its line`);
}

let server: HostileApiServer;
before(async () => {
  server = await startHostileApiServer();
});
after(async () => {
  await server[Symbol.asyncDispose]();
});

async function run(words: string, isTTY = false): Promise<Shown> {
  const { terminal, shown } = witness(isTTY);
  await runCommandLine([...words.split(' '), '--kubeconfig', server.kubeconfig], terminal);
  return shown();
}

const { node, maintenance, pod } = NAMES;
const READS = [
  'status',
  `status ${node}`,
  `status nm/${maintenance}`,
  `status nm/${maintenance} --watch --timeout 1s`,
  `preview ${node}`,
  `drain ${node} --delete-unmanaged --dry-run`,
  `drain ${node} --timeout 1s`,
  `complete nm/${maintenance} --timeout 1s -o yaml`,
  `evict ${pod} --watch --timeout 1s`,
];
const WRITES = [
  `drain ${node} --name other --delete-unmanaged --no-wait`,
  `cordon ${node} --name other --timeout 1s`,
  `complete nm/${maintenance}`,
  `evict ${pod}`,
  `evict ${pod} --withdraw`,
  'uninstall-cluster --yes --timeout 1s',
];

describe('a hostile text of a node, a user or a server', () => {
  for (const isTTY of [false, true]) {
    for (const words of READS) {
      it(`a hostile text reaches ${isTTY ? 'a terminal' : 'a pipe'} harmless by nodemaint ${words}`, async () => {
        server.writes = 'done';
        assertHarmless(await run(words, isTTY), words);
      });
    }
  }

  for (const words of WRITES) {
    it(`a hostile text is harmless in a refusal of nodemaint ${words}`, async () => {
      server.writes = 'refused';
      assertHarmless(await run(words), words);
    });
  }

  it('a hostile text stays the same in JSON, in characters that do not control a terminal', async () => {
    server.writes = 'done';
    for (const words of ['status', `status nm/${maintenance}`, `status ${node}`, `preview ${node}`]) {
      const { output } = await run(`${words} -o json`);
      assert.doesNotMatch(output, STEERING);
      assert.ok(JSON.stringify(JSON.parse(output)).includes(JSON.stringify(HOSTILE).slice(1, -1)), words);
    }
  });

  it('a hostile text is harmless in the names of files of static pods and in what is wrong with them', async () => {
    await inSandbox(async ({ staticPodPath, configFile }) => {
      const name = HOSTILE.replaceAll('/', '-');
      const manifest = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: b}]}\n';
      await writeFile(path.join(staticPodPath, name), manifest);
      const park = ['static-pods', 'park', name, '--timeout', '1s'];
      for (const words of [['static-pods', 'list'], ['restore', name], park]) {
        const { terminal, shown } = witness(false);
        await runCommandLine([...words, '--config', configFile], terminal);
        assertHarmless(shown(), words.join(' '));
      }
    });
  });

  it('a hostile text is harmless in what doctor finds', async () => {
    await inSandbox(async ({ writeConfig, configFile }) => {
      // A configuration may not have control characters in a path; it may have these.
      await writeConfig({ nodeName: 'n', staticPodPath: '/none/EVIL\u202E\u2066' });
      const { terminal, shown } = witness(false);
      await runCommandLine(['doctor', '--config', configFile], terminal);
      assertHarmless(shown(), 'doctor');
    });
  });
});

const WAITING = { wait: 'interceptor' as const, what: HOSTILE, on: HOSTILE, message: HOSTILE, since: 1 };
const STATUS: AgentStatus = {
  node: 'n1',
  phase: { kind: 'watching' },
  summary: HOSTILE,
  lock: { kind: 'delay', held: false, message: HOSTILE, delay: { limitMs: 1, file: HOSTILE, problem: HOSTILE } },
  scheduled: { kind: HOSTILE, at: 1 },
  cluster: { configured: true, server: HOSTILE, heardAt: 1 },
  maintenance: { name: 'm', message: HOSTILE },
  waitingFor: [WAITING, WAITING],
  inPlace: [HOSTILE],
  parked: [HOSTILE, HOSTILE],
  warnings: [HOSTILE],
  startedAt: 1,
};

describe('a hostile text in the answer of an agent', () => {
  it('a hostile text of an agent is harmless in nodemaint status, trigger, cancel and release', async () => {
    await inSandbox(async ({ runDirectory }) => {
      let answer: object = STATUS;
      const agent = createServer((socket) => socket.once('data', () => socket.end(`${JSON.stringify(answer)}\n`)));
      await mkdir(runDirectory);
      agent.listen(path.join(runDirectory, 'control.sock'));
      await once(agent, 'listening');
      const ask = async (...words: readonly string[]): Promise<Shown> => {
        const { terminal, shown } = witness(false);
        await runCommandLine([...words, '--run-directory', runDirectory], terminal);
        return shown();
      };
      try {
        assertHarmless(await ask('status'), 'status');
        answer = { error: HOSTILE };
        for (const words of [['status'], ['trigger', '--reason', 'x'], ['cancel'], ['release']]) {
          const { output, errors } = await ask(...words);
          assert.match(errors, /EVIL/);
          assert.doesNotMatch(output + errors, STEERING, words.join(' '));
        }
      } finally {
        agent.close();
      }
    });
  });
});

describe('the terminal', () => {
  it('every verb writes to the terminal', async () => {
    const root = path.join(import.meta.dirname, '..', '..', '..', '..', 'src');
    for await (const file of glob('**/*.ts', { cwd: root })) {
      if (file === 'main.ts') continue;
      const text = await readFile(path.join(root, file), 'utf8');
      assert.doesNotMatch(text, /\bconsole\.|process\.std(out|err)\.write\((?!'ready')/mu, file);
    }
  });

  it('the terminal passes on only what does not control a terminal, whatever is written', () => {
    for (let code = 0; code < 0x11_00_00; code += code < 0x30_00 ? 1 : 251) {
      if (code >= 0xd8_00 && code <= 0xdf_ff) continue;
      const character = String.fromCodePoint(code);
      assert.doesNotMatch(escaped(character), STEERING, code.toString(16));
      assert.doesNotMatch(escapedLine(character), /[\n\t]/, code.toString(16));
      const plain = character.replaceAll(/["\\]/g, '');
      if (code >= 0x20) assert.equal(JSON.parse(`"${escaped(plain)}"`), plain);
    }
  });
});
