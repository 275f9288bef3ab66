/** What every command prints for programs. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Command } from 'commander';
import { parse } from 'yaml';
import type { AgentStatus } from '../../../src/agent/control/status.ts';
import { openStoryFiles } from '../../../src/agent/shutdown/story-files.ts';
import { createProgram, runCommandLine } from '../../../src/cli/program.ts';
import { formatSpan, parseDuration } from '../../../src/decide/duration.ts';
import { begunStory } from '../../../src/decide/story/story.ts';
import { type AgentSandbox, inSandbox } from '../../support/agent/sandbox.ts';
import { type HostileApiServer, NAMES, startHostileApiServer } from '../../support/stand-ins/hostile-api-server.ts';
import { recordTerminal } from '../../support/stand-ins/recorded-terminal.ts';

const SINCE = Date.UTC(2026, 0, 1);
const ORIGIN = { origin: 'logind', reason: 'r', since: SINCE, bootId: 'b' } as const;
const SHUTDOWN = { maintenance: 'm', mode: 'cluster', ...ORIGIN } as const;
const DEADLINE = { at: SINCE + 90_000 } as never;
const STATUS: AgentStatus = {
  node: 'n1',
  phase: { kind: 'draining', sinceBootMs: 5_000, deadline: DEADLINE, ...SHUTDOWN },
  summary: 's',
  lock: { kind: 'unit', held: true, message: '', delay: { limitMs: 600_000 }, deadManMs: 180_000 },
  scheduled: { kind: 'reboot', at: SINCE },
  cluster: { configured: true, server: 'https://s', heardAt: SINCE },
  controller: { state: 'alive', silentMs: 1_500 },
  maintenance: { name: 'm' },
  waitingFor: [{ wait: 'manifest', what: 'a/web', on: 'kubelet', message: '', since: SINCE, expectedAt: SINCE + 1 }],
  inPlace: [],
  parked: [],
  warnings: [],
  startedAt: SINCE,
};

const OWN = 'cli.nodemaintenance.x-k8s.io/v1alpha1';
const MAINTENANCE = 'nodemaintenance.x-k8s.io/v1alpha1 NodeMaintenance';
const REQUEST = 'coordination.x-k8s.io/v1alpha1 EvictionRequest';
const AGENT = 'agent.nodemaintenance.x-k8s.io/v1alpha1 AgentConfiguration';
const { node, maintenance, pod } = NAMES;

/** Each command line, where it finds what it reads, and the version and kind of what it prints. */
type Case = readonly [words: string, where: 'cluster' | 'agent' | 'config', kind: string];
const CASES: readonly Case[] = [
  ['status', 'agent', `${OWN} AgentStatus`],
  ['status', 'cluster', 'v1 List'],
  [`status ${node}`, 'cluster', `${OWN} NodeStatus`],
  [`status nm/${maintenance}`, 'cluster', `${OWN} DrainStatus`],
  [`status nm/${maintenance} --watch --timeout 1s`, 'cluster', `${OWN} DrainStatus`],
  [`preview ${node}`, 'cluster', `${OWN} DrainPreview`],
  [`preview ${node} other`, 'cluster', `${OWN} DrainPreviewList`],
  [`drain ${node} --name other --delete-unmanaged --dry-run`, 'cluster', MAINTENANCE],
  [`cordon ${node} --name other --dry-run`, 'cluster', MAINTENANCE],
  [`complete nm/${maintenance} --dry-run`, 'cluster', MAINTENANCE],
  [`evict ${pod} --dry-run`, 'cluster', REQUEST],
  ['check', 'cluster', `${OWN} CheckList`],
  ['version', 'config', `${OWN} Versions`],
  ['doctor', 'config', `${OWN} CheckList`],
  ['history', 'config', `${OWN} ShutdownHistory`],
  ['report', 'config', `${OWN} ShutdownReport`],
  ['static-pods list', 'config', `${OWN} StaticPodManifestList`],
  ['config show', 'config', AGENT],
];
/** A table of the API server, which the server of this test cannot make: test/integration/cli/fleet.test.ts has it. */
const ELSEWHERE = ['nodes'];
/** Its documents are those that it has from the cluster, or an agent's configuration, whose settings have their own names. */
const OF_OTHERS: ReadonlySet<string> = new Set([MAINTENANCE, REQUEST, AGENT, 'v1 List']);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/;
const IS_TIME = /(?:^at|^since|^began|^ended|^asked|^gone|At|Time|Timestamp)$/;

/** The commands that print documents, by their words. */
function printers(command: Command, words: readonly string[] = []): readonly string[] {
  const choices = command.options.find(({ long }) => long === '--output')?.argChoices ?? [];
  const own = choices.includes('json') ? [words.join(' ')] : [];
  return [...own, ...command.commands.flatMap((each) => printers(each, [...words, each.name()]))];
}

/** Fails where a member is a time that is no RFC 3339, a number that can only be one, or a span in another unit. */
function assertMembers(value: unknown, place: string): void {
  if (typeof value === 'number') assert.ok(value < 1e11, `${place} is ${value}: a time since the epoch`);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    const at = `${place}.${key}`;
    if (key === 'config') continue;
    assert.doesNotMatch(key, /(?:Ms|Sec|Millis)$/, at);
    if (IS_TIME.test(key) && typeof member !== 'object' && !(key === 'gone' && typeof member === 'number')) {
      assert.match(String(member), TIME, at);
    }
    assertMembers(member, at);
  }
}

let server: HostileApiServer;
before(async () => {
  server = await startHostileApiServer();
});
after(async () => {
  await server[Symbol.asyncDispose]();
});

async function withFiles(body: (sandbox: AgentSandbox) => Promise<void>): Promise<void> {
  await inSandbox(async (sandbox) => {
    const { root, runDirectory, staticPodPath } = sandbox;
    await openStoryFiles(path.join(root, 'state')).write(begunStory('n1', { ...SHUTDOWN }));
    const manifest = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: b}]}\n';
    await writeFile(path.join(staticPodPath, 'web.yaml'), manifest);
    await mkdir(runDirectory);
    const agent = createServer((socket) => socket.once('data', () => socket.end(`${JSON.stringify(STATUS)}\n`)));
    agent.listen(path.join(runDirectory, 'control.sock'));
    await once(agent, 'listening');
    try {
      await body(sandbox);
    } finally {
      agent.close();
    }
  });
}

describe('what commands print for programs', () => {
  it('the table below has every command that prints JSON', () => {
    const { terminal } = recordTerminal('pipe');
    const known = CASES.map(([words]) => words);
    for (const words of printers(createProgram(terminal, () => undefined))) {
      const isKnown = known.some((line) => line === words || line.startsWith(`${words} `));
      assert.ok(isKnown || ELSEWHERE.includes(words), words);
    }
  });

  for (const [words, where, kind] of CASES) {
    it(`the document of nodemaint ${words} (${where}) is a ${kind}`, async () => {
      await withFiles(async ({ configFile, runDirectory }) => {
        const flags = {
          cluster: ['--kubeconfig', server.kubeconfig],
          agent: ['--run-directory', runDirectory],
          config: words.startsWith('version') ? [] : ['--config', configFile],
        }[where];
        // A report is no YAML.
        const formats = words.startsWith('report') ? (['json'] as const) : (['json', 'yaml'] as const);
        for (const format of formats) {
          const { terminal, output, errors } = recordTerminal('pipe');
          await runCommandLine([...words.split(' '), '-o', format, ...flags], terminal);
          const isStream = words.includes('--watch');
          const [first = ''] = output()
            .replace(/^---\n/, '')
            .split('\n---\n');
          const text = isStream ? first : output();
          const [line = ''] = text.split(isStream ? '\n' : '\0');
          const document = (format === 'json' ? JSON.parse(line) : parse(text)) as Record<string, unknown>;
          assert.equal(`${String(document['apiVersion'])} ${String(document['kind'])}`, kind, errors());
          if (!OF_OTHERS.has(kind)) assertMembers(document, words);
        }
      });
    });
  }

  it('the names of -o name are those of kubectl, and nodemaint takes them', async () => {
    const name = `nodemaintenance.nodemaintenance.x-k8s.io/${maintenance}`;
    for (const [words, wanted] of [
      ['status', name],
      [`status nm/${maintenance}`, name],
      [`status ${name}`, name],
      [`status ${node}`, `node/${node}`],
      [`complete ${name} --dry-run`, name],
      [`drain ${node} --name other --delete-unmanaged --dry-run`, name],
      [`evict ${pod} --dry-run`, `evictionrequest.coordination.x-k8s.io/${NAMES.uid}`],
    ] as const) {
      const { terminal, output, errors } = recordTerminal('pipe');
      await runCommandLine([...words.split(' '), '-o', 'name', '--kubeconfig', server.kubeconfig], terminal);
      assert.equal(output(), `${wanted}\n`, `${words}: ${errors()}`);
    }
  });

  it('a progress that is watched has no name', async () => {
    for (const words of [`status nm/${maintenance} --watch`, `evict ${pod} --watch`]) {
      const { terminal, errors } = recordTerminal('pipe');
      const flags = ['-o', 'name', '--kubeconfig', server.kubeconfig];
      const code = await runCommandLine([...words.split(' '), ...flags], terminal);
      assert.deepEqual([code, errors()], [2, 'nodemaint: --watch cannot be used with --output name\n'], words);
    }
  });

  it('a span of time in a table is written as flags take it', () => {
    for (const ms of [0, 999, 59_499, 60_000, 3_599_499, 3_600_000, 7_505_000, 604_800_000]) {
      const read = parseDuration(formatSpan(ms));
      assert.ok(read !== undefined && Math.abs(read - ms) < 60_000, `${ms}: ${formatSpan(ms)}`);
    }
  });
});
