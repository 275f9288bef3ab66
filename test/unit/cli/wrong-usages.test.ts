import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { before, describe, it, type TestContext } from 'node:test';
import { runCommandLine } from '../../../src/cli/program.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { recordTerminal } from '../../support/stand-ins/recorded-terminal.ts';

/** A cluster that does not answer: what a wrong usage would send goes nowhere, and would be another message. */
const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: ctx
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: ctx, context: {cluster: c, user: u}}]
`;

/** The command line, in which K stands for the flag of the kubeconfig and D for a folder; the exit code; what is said. */
type Case = readonly [words: string, code: number, message: RegExp];

const OF_THE_REVIEW: readonly Case[] = [
  ['drain -l role=worker worker-1 K', 2, /-l role=worker cannot be used together with names of nodes/],
  ['stauts', 2, /unknown command 'stauts'/],
  ['drain K', 2, /name a node, or choose nodes/],
  ['drain n1 K --context nope', 2, /context "nope" does not exist in the kubeconfig .*; it has ctx/],
  ['drain pod/x', 2, /"pod\/x" is neither a node nor a NodeMaintenance: write NAME, node\/NAME or nm\/NAME/],
  ['drain w --no-wait --timeout 1h', 2, /--timeout cannot be used with --no-wait/],
  ['cancel --run-directory D', 1, /no agent answers at D\/control\.sock .*is nodemaint\.service running, and are you/],
  ['trigger --reason x --deadline 5', 2, /--deadline 5: write numbers and units, such as 90s, 20m or 1h30m/],
  ['controller --kubeconfig D/none', 2, /D\/none: .*; name a readable kubeconfig, or leave the flag out in a pod/],
  ['release --run-directory D', 1, /the lock .* cannot be released: .*: systemctl stop nodemaint-inhibitor\.service/],
  ['preview n1 --timeout 3s', 2, /unknown option '--timeout'/],
  ['drain n1 --plan D/empty.yaml K', 2, /--plan D\/empty\.yaml: it has no drainPlan/],
  ['completion tcsh', 2, /'tcsh' is no shell\. Allowed choices are bash, zsh, fish, kubectl/],
  ['drain n1 K', 1, /no answer from https:\/\/127\.0\.0\.1:1 to GET \/api\/v1\/nodes\/n1/],
  ['config check D/none.yaml', 2, /there is no D\/none\.yaml: no agent is .*; install the package of the release/],
];

const MORE: readonly Case[] = [
  ['drain n1 --as-group ops K', 2, /--as-group needs --as/],
  ['drain --selector= K', 2, /-l must not be empty: it would select every node/],
  ['drain n1 --dry-run=maybe', 2, /Allowed choices are none, server, client/],
  ['drain N1', 2, /"N1" is not a valid name: use lower case letters/],
  ['drain node/', 2, /"node\/" is not a valid name/],
  ['drain nm/x', 2, /"nm\/x" is not a node/],
  ['drain n1 --plan D K', 2, /--plan D: it is a directory; name a file with a drain plan/],
  ['drain n1 --plan D/plan.yaml K', 2, /--plan D\/plan\.yaml: it is not a drain plan:.*at \[0\]\.podPriority/s],
  ['drain n1 --plan D/broken.yaml K', 2, /--plan D\/broken\.yaml: it is neither YAML nor JSON/],
  ['drain n1 --kubeconfig D/none', 2, /cannot read the kubeconfig D\/none: .*; name another one with --kubeconfig/],
  ['complete', 2, /name a node or a maintenance/],
  ['status --watch --run-directory D', 2, /--watch needs a node or a maintenance/],
  ['status n1 --timeout 5s K', 2, /--timeout needs --watch/],
  ['status -o jsonpath={.x}', 2, /Allowed choices are table, name, json, yaml/],
  ['drain n1 --request-timeout soon', 2, /Write a time such as 30s or 2m, or 0 for no limit/],
  ['evict deploy/web', 2, /"deploy\/web" is not a pod: write NAME or pod\/NAME/],
  ['evict web --requester=', 2, /fully qualified/],
  ['evict web --requester nodemaintenance.k8s.io', 2, /reserved for the NodeMaintenance controller/],
  ['evict web --watch --dry-run', 2, /--dry-run/],
  ['evict web -n Bad_', 2, /--namespace "Bad_" is not a valid namespace name: use at most 63 lower case letters/],
  ['evict web --requester me', 2, /--requester "me" is not a fully qualified domain name/],
  ['evict web --watch --withdraw', 2, /--watch cannot be used with --withdraw/],
  ['evict web --dry-run=client K', 2, /only the server can check an eviction/],
  ['uninstall-cluster K', 2, /write --yes, or look first with --dry-run/],
  ['report 0 --config D/config.yaml', 2, /"0" is no number of a shutdown/],
  ['report n1 --config D/config.yaml', 2, /"n1" is no number of a shutdown/],
  ['report 1 --config D/config.yaml', 1, /no shutdown is recorded in D\/state\/shutdowns yet/],
  ['report -o pdf', 2, /Allowed choices are text, json, svg/],
  ['history --config D/none.yaml', 2, /there is no D\/none\.yaml: no agent is installed on this machine/],
  ['trigger', 2, /required option '--reason <text>' not specified/],
  ['trigger --reason= ', 2, /argument '': it must not be empty/],
  ['drain n1 --keep everything', 2, /Allowed kinds are daemonsets, static, unmanaged, emptydir/],
  [
    'drain n1 --keep static,unmanaged --delete-unmanaged K',
    2,
    /--delete-unmanaged cannot be used with --keep unmanaged/,
  ],
];

/** Every file below a folder, so that a test sees whether something was made. */
async function filesOf(folder: string): Promise<readonly string[]> {
  return (await readdir(folder, { recursive: true })).toSorted();
}

async function assertAnswer(t: TestContext, [words, code, message]: Case): Promise<void> {
  const folder = await temporaryFolder(t, 'usage');
  await mkdir(path.join(folder, 'manifests'));
  await writeFile(path.join(folder, 'kubeconfig'), KUBECONFIG);
  await writeFile(path.join(folder, 'empty.yaml'), '{}\n');
  await writeFile(path.join(folder, 'plan.yaml'), 'drainPlan: [{podType: Default, podPriority: high}]\n');
  await writeFile(path.join(folder, 'broken.yaml'), '[{\n');
  const config = { apiVersion: 'agent.nodemaintenance.x-k8s.io/v1alpha1', kind: 'AgentConfiguration' };
  const own = { stateDirectory: path.join(folder, 'state'), staticPodPath: path.join(folder, 'manifests') };
  await writeFile(path.join(folder, 'config.yaml'), JSON.stringify({ ...config, ...own }));
  const before = await filesOf(folder);
  const argv = words
    .split(' ')
    .flatMap((word) => (word === 'K' ? ['--kubeconfig', path.join(folder, 'kubeconfig')] : [word]))
    .map((word) => word.replace(/^D(?=$|\/)/, folder));
  const recorded = recordTerminal('pipe');
  assert.equal(await runCommandLine(argv, recorded.terminal), code, recorded.errors());
  const said = recorded.errors().replaceAll(folder, 'D');
  assert.match(said, message);
  assert.match(said, /^nodemaint: \S/, 'one voice');
  assert.doesNotMatch(said, /\n +at |\[object|undefined|ZodError/);
  assert.equal(recorded.output(), '');
  assert.deepEqual(await filesOf(folder), before, 'nothing is changed');
}

describe('a wrong usage', () => {
  // A machine without D-Bus.
  before(() => {
    process.env['DBUS_SYSTEM_BUS_ADDRESS'] = 'unix:path=/nonexistent/bus';
  });

  for (const each of [...OF_THE_REVIEW, ...MORE]) {
    it(`a wrong usage is answered: nodemaint ${each[0]}`, async (t: TestContext) => {
      await assertAnswer(t, each);
    });
  }
});
