import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { DEADLINE_ANNOTATION } from '../../../src/api/names.ts';
import { buildNoticeRig, type NoticeRig, PODS, QUIET } from '../../support/rigs/notice.ts';
import { ec2Answers } from '../../support/stand-ins/metadata-server.ts';
import { readAgentStatus, runNodemaint } from '../../support/commands/nodemaint.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

/** Requests of one batch are answered in any order, and a line is logged after what it tells has been done. */
const LOG_SEC = 0.3;
const SECONDS = 5;

describe('notices on a real node', () => {
  let rig: NoticeRig;
  before(async () => {
    rig = await buildNoticeRig();
  });
  after(() => rig[Symbol.asyncDispose]());

  it('a notice of 5 s ends every pod before the deadline, in order, static pods too', async (test) => {
    await rig.startPods();
    await using _back = { [Symbol.asyncDispose]: rig.goBack };
    const { endings, deadlineSec } = await rig.giveNotice(SECONDS);
    test.diagnostic(`${SECONDS} s notice: deadline ${deadlineSec.toFixed(1)} s`);
    for (const { pod, orderedSec: ordered, termSec, killSec } of endings) {
      test.diagnostic(
        `${SECONDS} s notice: ${pod} ordered ${ordered.toFixed(1)} s, SIGTERM ${termSec.toFixed(1)} s, SIGKILL ${killSec.toFixed(1)} s`,
      );
    }
    const orderedSec = (name: string): number => endings.find(({ pod }) => pod === name)?.orderedSec ?? Number.NaN;
    for (const { pod, orderedSec: ordered, termSec, killSec } of endings) {
      assert.ok(termSec >= ordered - LOG_SEC, `${pod}: SIGTERM at ${termSec} s, ordered at ${ordered} s`);
      assert.ok(killSec <= deadlineSec, `${pod} ended at ${killSec} s`);
      assert.ok(killSec - termSec <= (PODS[pod]?.graceSec ?? 0) + 2, `${pod}: ${termSec} s to ${killSec} s`);
    }
    // The order of the requests and of the moves is ours; when the kubelet then sends SIGTERM is not.
    const firsts = ['web-10', 'web-60', 'web-600'].map(orderedSec);
    const critical = orderedSec('critical-60');
    assert.ok(critical >= Math.max(...firsts) - LOG_SEC, 'the tiers of Default pods keep their order');
    assert.ok(orderedSec('static-10') >= critical - LOG_SEC, 'static pods come last');
    assert.ok(orderedSec('static-600') >= orderedSec('static-10'), 'in their own order');
    const [own] = (await rig.maintenances()).filter(({ spec }) => spec.stage === 'Drain');
    const told = Date.parse(own?.metadata.annotations?.[DEADLINE_ANNOTATION] ?? '');
    const created = Date.parse(own?.metadata.creationTimestamp ?? '');
    assert.ok(Math.abs(told - created - SECONDS * 1000) <= 2_000, 'the NodeMaintenance has the deadline');
  });

  it('a closer deadline shortens the end of pods that are terminating already', async (test) => {
    await rig.startPods();
    await using _back = { [Symbol.asyncDispose]: rig.goBack };
    // Told for themselves with 600 s, and for a far deadline with what that leaves.
    await rig.controlPlane.kubectl(['delete', 'pod', '-n', 'kube-system', 'web-600', '--wait=false']);
    await waitFor('it is told', async () => !Number.isNaN(await rig.writtenAt('web-600.term')), SLOW);
    const far = ['trigger', '--reason', 'far', '--deadline', '1000s', '--run-directory', rig.runDirectory];
    assert.equal((await runNodemaint(far)).code, 0);
    await waitFor('web-60 is told', async () => !Number.isNaN(await rig.writtenAt('web-60.term')), SLOW);
    const { endings, deadlineSec } = await rig.giveNotice(30);
    for (const { pod, killSec } of endings) {
      test.diagnostic(`closer deadline of ${deadlineSec.toFixed(1)} s: ${pod} SIGKILL ${killSec.toFixed(1)} s`);
      assert.ok(killSec <= deadlineSec, `${pod} ended at ${killSec} s`);
    }
  });

  it('a spot interruption is canceled with everything that it began', async () => {
    await rig.startPods();
    const before = await readdir(rig.node.staticPodPath);
    const time = new Date(Date.now() + 600_000).toISOString().replace(/\.\d+/, '');
    rig.metadata.answers = ec2Answers({ ...QUIET, 'spot/instance-action': JSON.stringify({ action: 'stop', time }) });
    await waitFor('the agent drains', () => rig.phaseIs('draining'), SLOW);
    const { phase } = await readAgentStatus(rig.runDirectory);
    assert.ok(phase.kind === 'draining' && phase.origin === 'notice');
    assert.equal(phase.deadline?.at, Date.parse(time));
    await waitFor('the node is cordoned', async () => (await rig.unschedulable()) === 'true', SLOW);
    interface Request {
      readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
      readonly spec: { readonly requesters?: readonly object[] };
    }
    const requests = async (): Promise<readonly Request[]> =>
      (JSON.parse(await rig.controlPlane.kubectl(['get', 'evreq', '-A', '-o', 'json'])) as { items: Request[] }).items;
    await waitFor(
      'evictions are requested, and interceptors see the deadline',
      async () =>
        (await requests()).some(({ metadata: { annotations } }) => annotations?.[DEADLINE_ANNOTATION] === time),
      SLOW,
    );

    rig.metadata.answers = ec2Answers(QUIET);
    await waitFor('the agent watches again', () => rig.phaseIs('watching'), SLOW);
    await waitFor('the node is uncordoned', async () => (await rig.unschedulable()) === '', SLOW);
    await waitFor(
      'no request is left that asks for anything',
      async () => (await requests()).every(({ spec }) => (spec.requesters ?? []).length === 0),
      SLOW,
    );
    assert.deepEqual(await readdir(rig.node.staticPodPath), before, 'the manifests are back');
    const hooks = (await readFile(path.join(rig.folder, 'hooks.log'), 'utf8')).trim().split('\n');
    assert.deepEqual(hooks.slice(-2), ['pre-drain notice', 'restored notice']);
  });
});
