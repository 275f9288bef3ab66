/** The report of a real shutdown beside the journal of the same shutdown: kubelet, containerd, logind and API server are real. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { createSystemClock } from '../../../src/host/clock.ts';
import { PODS } from '../../../src/kube/resource.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { createKubeClient } from '../../../src/kube/client.ts';
import { loadClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createObjectCache } from '../../../src/kube/watch.ts';
import { createContainerRuntime } from '../../../src/host/cri/runtime.ts';
import { readAgentStatus, runNodemaint } from '../../support/commands/nodemaint.ts';
import { type NodeLoad, startWholeNode, untilPhase, type WholeNode } from '../../support/rigs/whole-node.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { waitFor } from '../../support/wait-for.ts';

const LOAD: NodeLoad = {
  deployments: { web: { stopSec: 2 }, db: { stopSec: 2 } },
  daemonSets: { logger: { stopSec: 1 } },
  staticPods: { cache: { stopSec: 1 } },
  blocked: 'db',
};

/** What is read of a report. */
interface Report {
  readonly began: string;
  readonly ended: string;
  readonly heldSeconds: number;
  readonly addedSeconds: number;
  readonly awaySeconds: number;
  readonly causes: readonly { readonly text: string; readonly seconds: number }[];
  readonly tiers: readonly {
    readonly name: string;
    readonly pods: readonly { readonly pod: string; readonly asked: string; readonly gone: string }[];
  }[];
  readonly moments: readonly { readonly at: string; readonly text: string }[];
}

/** A line of the journal. */
interface Line {
  readonly time: string;
  readonly msg: string;
  readonly transition?: string;
  readonly manifest?: string;
}

/** Remembers when the API server said that each pod is gone. */
function watchPods({ controlPlane }: WholeNode, stack: AsyncDisposableStack): Promise<ReadonlyMap<string, number>> {
  const gone = new Map<string, number>();
  const stop = new AbortController();
  return (async () => {
    const client = createKubeClient(await loadClusterAccess(controlPlane.adminKubeconfig), 'test');
    const onChange = (key: string): void => {
      if (cache.get(key) === undefined) gone.set(key, Date.now());
    };
    const parts = { client, clock: createSystemClock(), log: SILENT_LOG };
    const cache = createObjectCache<Pod>({ resource: PODS }, onChange, parts);
    const running = cache.run(stop.signal);
    stack.defer(async () => {
      stop.abort();
      await running;
      client.close();
    });
    await waitFor('the pods are watched', () => cache.synced());
    return gone;
  })();
}

/** Fails where two times, RFC 3339 or milliseconds, are a second or more apart, or `withinMs`. */
function assertSameSecond(mine: string, other: string | number | undefined, what: string, withinMs = 1_000): void {
  const [a, b] = [new Date(mine).getTime(), new Date(other ?? Number.NaN).getTime()];
  assert.ok(
    Math.abs(a - b) < withinMs,
    `${what}: ${new Date(a).toISOString()} and ${other === undefined ? 'never' : new Date(b).toISOString()}`,
  );
}

describe('the report of a real shutdown', () => {
  it('the report has the times of the journal and of logind to the second, and each pod from first asked to gone', async (t: TestContext) => {
    await using stack = new AsyncDisposableStack();
    const node = stack.use(await startWholeNode(`story-${process.pid}`, LOAD, t.signal));
    const gone = await watchPods(node, stack);
    const askedAt = Date.now();
    await node.logind.reboot();
    const isBlocked = async (): Promise<boolean> => gone.size > 0;
    await waitFor('the pod that nothing keeps is gone', isBlocked, { timeoutMs: 60_000, program: node.agent() });
    const unblockedAt = Date.now();
    await node.unblock();
    await untilPhase(node, 'released');
    await node.boot();
    await untilPhase(node, 'watching');

    const { stdout, stderr } = await runNodemaint(['report', '-o', 'json', '--config', node.files.configFile]);
    assert.notEqual(stdout, '', stderr);
    const report = JSON.parse(stdout) as Report;
    t.diagnostic(stdout);
    const journal = (await readFile(node.logFile, 'utf8'))
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Line);
    const at = (claim: (line: Line) => boolean): string | undefined => journal.find(claim)?.time;
    const transition = (name: string): string | undefined => at((line) => line.transition === name);
    const moment = (text: RegExp): string => report.moments.find((each) => text.test(each.text))?.at ?? 'none';

    // Other processes take part in these two, and other files share the processors.
    assertSameSecond(report.began, askedAt, 'asked of logind', 3_000);
    assertSameSecond(report.began, transition('begin'), 'begin');
    assertSameSecond(report.ended, transition('finish'), 'finish');
    assertSameSecond(report.ended, node.logind.startedTargets()[0]?.at, 'logind goes on', 3_000);
    assertSameSecond(moment(/^the machine is back$/), transition('boot'), 'boot');
    assertSameSecond(moment(/^everything is back/), transition('settle'), 'settle');
    const held = new Date(transition('finish') ?? '').getTime() - new Date(transition('begin') ?? '').getTime();
    assert.ok(Math.abs(report.heldSeconds * 1000 - held) < 1_000);
    const away = new Date(transition('boot') ?? '').getTime() - new Date(transition('finish') ?? '').getTime();
    assert.ok(Math.abs(report.awaySeconds * 1000 - away) < 1_000);

    const pods = new Map(report.tiers.flatMap((tier) => tier.pods).map((pod) => [pod.pod, pod]));
    assert.deepEqual([...pods.keys()].map((name) => name.replace(/^[^/]*\/(\w+)-.*/, '$1')).toSorted(), [
      'cache',
      'db',
      'logger',
      'web',
    ]);
    // The agent sees at the end of a turn that a pod is gone.
    for (const [name, pod] of pods) assertSameSecond(pod.gone, gone.get(name), `${name} is gone`, 3_000);
    const [, cache] = [...pods].find(([name]) => name.includes('/cache-')) ?? [];
    // Its time may be that of the API server, in whole seconds.
    const parkedAt = at(({ msg, manifest }) => msg === 'parked manifest' && manifest === 'cache.yaml');
    assertSameSecond(cache?.asked ?? '', parkedAt, 'parked', 3_000);
    const waited = report.causes.find(({ text }) => text.startsWith('PodDisruptionBudget db'));
    assert.ok(waited !== undefined && waited.seconds * 1000 >= unblockedAt - askedAt - 3_000, stdout);
  });

  it('a machine whose kubelet was stopped before the reboot goes down in order: the runtime ends what was told to end', async (t: TestContext) => {
    await using stack = new AsyncDisposableStack();
    const node = stack.use(await startWholeNode(`dead-${process.pid}`, { ...LOAD, blocked: 'nothing' }, t.signal));
    await node.node.stopKubelet();
    await node.logind.reboot();
    await untilPhase(node, 'released', 240_000);
    const { phase } = await readAgentStatus(node.files.runDirectory);
    assert.ok(
      phase.kind === 'released' && phase.mode === 'cluster' && phase.forced === undefined,
      JSON.stringify(phase),
    );
    const runtime = createContainerRuntime(node.node.runtimeEndpoint);
    stack.defer(() => {
      runtime.close();
    });
    assert.deepEqual(await runtime.livePods(t.signal), []);
    assert.equal(
      await node.controlPlane.kubectl([
        'get',
        'pods',
        '-A',
        '--field-selector',
        `spec.nodeName=${node.name}`,
        '-o',
        'name',
      ]),
      '',
    );
  });
});
