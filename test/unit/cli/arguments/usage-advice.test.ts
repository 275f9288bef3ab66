import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCommandLine } from '../../../../src/cli/program.ts';
import { REFUSED_LINES } from '../../../support/commands/runbook-lines.ts';
import { recordTerminal } from '../../../support/stand-ins/recorded-terminal.ts';

/** The flags of `kubectl drain`, `cordon` and `uncordon` of Kubernetes 1.36, and those that every command of kubectl has. */
const OF_KUBECTL = [
  '--chunk-size=500',
  '--delete-emptydir-data',
  '--disable-eviction',
  '--dry-run=server',
  '--force',
  '--grace-period=30',
  '--ignore-daemonsets',
  '--pod-selector=app=web',
  '--selector=pool=web',
  '-l=pool=web',
  '--skip-wait-for-delete-timeout=1',
  '--timeout=5m',
  '--as=ops',
  '--as-group=ops',
  '--as-uid=1',
  '--as-user-extra=a=b',
  '--cache-dir=/x',
  '--certificate-authority=/x',
  '--client-certificate=/x',
  '--client-key=/x',
  '--cluster=c',
  '--context=c',
  '--disable-compression',
  '--insecure-skip-tls-verify',
  '--kubeconfig=/nonexistent',
  '--kuberc=/x',
  '--log-flush-frequency=5s',
  '--match-server-version',
  '--namespace=n',
  '-n=n',
  '--password=p',
  '--profile=cpu',
  '--profile-output=/x',
  '--request-timeout=5s',
  '--request-timeout=0',
  '--request-timeout=30',
  '--server=https://127.0.0.1:1',
  '-s=https://127.0.0.1:1',
  '--tls-server-name=n',
  '--token=t',
  '--user=u',
  '--username=u',
  '--v=6',
  '-v=6',
  '-v6',
  '--vmodule=a=1',
  '--warnings-as-errors',
];

/** What a command says to one more flag of its own; the cluster is one that is not there, so that nothing can happen. */
async function saidOf(command: string, flag: string): Promise<string> {
  const recorded = recordTerminal('pipe');
  const cluster = flag.startsWith('--kubeconfig') ? [] : ['--kubeconfig=/nonexistent'];
  const nodes = /^(?:-l|--selector)/.test(flag) ? [] : ['n1'];
  assert.equal(await runCommandLine([command, ...nodes, flag, ...cluster], recorded.terminal), 2);
  return recorded.errors();
}

describe('lines of runbooks for kubectl, oc, kured, systemctl and shutdown', () => {
  for (const { from, words, says } of REFUSED_LINES) {
    it(`nodemaint ${words.join(' ')} does nothing and says what to use: ${from}`, async () => {
      const recorded = recordTerminal('pipe');
      const typed = words.map((word) => word.replace(/(^|=)N$/, '$1n1').replace(/^M$/, 'n2'));
      assert.equal(await runCommandLine(typed, recorded.terminal), 2);
      assert.match(recorded.errors(), says);
      assert.equal(recorded.output(), '');
    });
  }
});

describe('the flags of kubectl', () => {
  for (const command of ['drain', 'cordon', 'uncordon']) {
    it(`nodemaint ${command} takes every flag of kubectl, or says what to use in its place`, async () => {
      for (const flag of OF_KUBECTL) {
        const said = await saidOf(command, flag);
        const isTaken = /^nodemaint: (?:cannot read the kubeconfig|--as-group needs --as)/.test(said);
        assert.ok(isTaken || /^nodemaint: unknown option '\S+': \w.{10,}\nSee: /.test(said), `${flag}: ${said}`);
      }
    });
  }
});
