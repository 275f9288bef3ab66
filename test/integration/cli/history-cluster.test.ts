import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { runNodemaint } from '../../support/commands/nodemaint.ts';
import { byName, maintenanceOf } from '../../support/maintenance/objects.ts';
import { buildEvictionRig, type EvictionRig, type Running } from '../../support/rigs/eviction.ts';
import { eventually, SLOW, waitFor } from '../../support/wait-for.ts';

const NAMESPACE = ['-n', 'nodemaint-system'];
const KEEP = { keptStories: '3' };

describe('the stories of drains that are over, on a real API server', () => {
  let rig: EvictionRig;
  let controller: Running;
  let admin: string;
  before(async () => {
    rig = await buildEvictionRig();
    admin = await rig.controlPlane.kubeconfigFor('alice', ['system:masters']);
    controller = await rig.startController(KEEP);
  });
  after(async () => {
    await controller.stop();
    await rig[Symbol.asyncDispose]();
  });

  const kubectl = (...args: readonly string[]): Promise<string> => rig.controlPlane.kubectl(args);
  const apply = async (object: object): Promise<string> =>
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const states = async (): Promise<readonly string[]> => {
    const path = '{range .items[*]}{.metadata.annotations}{.metadata.labels}{"\\n"}{end}';
    const text = await kubectl(
      'get',
      'configmap',
      ...NAMESPACE,
      '-l',
      'nodemaintenance.x-k8s.io/story',
      '-o',
      `jsonpath=${path}`,
    );
    return text.split('\n').flatMap((line) => {
      const name = /story-of":"([^"]+)"/.exec(line)?.[1];
      const state = /\/story":"([^"]+)"/.exec(line)?.[1];
      return name === undefined ? [] : [`${name} ${state}`];
    });
  };
  const untilKept = async (wanted: string): Promise<void> => {
    await waitFor(`${wanted} is kept`, async () => (await states()).includes(wanted), SLOW);
  };
  const nodemaint = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runNodemaint([...args, '--kubeconfig', admin]);
    assert.equal(`${code} ${stderr}`, '0 ');
    return stdout;
  };
  /** Makes a node with a pod, and a maintenance that drains it. */
  const drain = async (node: string): Promise<void> => {
    await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
    await rig.createPod(`pod-${node}`, {}, { nodeName: node });
    await apply(
      maintenanceOf({ stage: 'Drain', nodeSelector: byName(node), reason: 'new disk' }, { name: `m-${node}` }),
    );
    await waitFor(
      'the pod is asked',
      async () => (await rig.getPod(`pod-${node}`))?.metadata.deletionTimestamp !== undefined,
      SLOW,
    );
  };

  it('the story of a drain is there when it is complete and when its object is deleted, with its pods and who asked', async () => {
    assert.match(await nodemaint('history', '--cluster'), /^No drain that is over is recorded/);
    await drain('one');
    await rig.endPod('pod-one');
    await untilKept('m-one drained');
    await kubectl('patch', 'nm', 'm-one', '--type=merge', '-p', '{"spec":{"stage":"Complete"}}');
    await untilKept('m-one ended');
    await kubectl('delete', 'nm', 'm-one', '--timeout=300s');
    const list = await nodemaint('history', '--cluster');
    assert.match(list, /^BEGAN +NODE +TOOK +PODS +MAINTENANCE +ASKED BY +WHAT HAPPENED\n/);
    assert.match(list, /\S+Z +one +\S+ +1 +m-one +\S+ +new disk: every pod left\n/);
    const report = await nodemaint('report', 'nm/m-one');
    assert.match(report, /default\/pod-one/);
    assert.match(report, /the maintenance is complete/);
    const { items } = JSON.parse(await nodemaint('history', '--cluster', 'one', '-o', 'json')) as {
      items: { outcome: string }[];
    };
    assert.deepEqual(
      items.map(({ outcome }) => outcome),
      ['drained'],
    );
    assert.match(await nodemaint('history', '--cluster', 'two'), /^No drain of two that is over/);
  });

  it('a drain that is deleted in the middle has a story too, and another leader writes none again', async () => {
    await drain('two');
    await kubectl('delete', 'nm', 'm-two', '--timeout=300s');
    await untilKept('m-two ended');
    assert.match(await nodemaint('history', '--cluster'), / m-two .*: the drain ended before all pods had left\n/);
    const versions = ['get', 'configmap', ...NAMESPACE, '-o', 'jsonpath={.items[*].metadata.resourceVersion}'];
    const before = await kubectl(...versions);
    await controller.stop();
    await drainDone('three');
    controller = await rig.startController(KEEP);
    await untilKept('m-three drained');
    const known = before.split(' ');
    await eventually(async () => {
      assert.equal((await kubectl(...versions)).split(' ').filter((each) => known.includes(each)).length, known.length);
    });
  });

  /** Drains a node while no controller runs: its status says that it is drained. */
  const drainDone = async (node: string): Promise<void> => {
    await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
    await apply(maintenanceOf({ stage: 'Drain', nodeSelector: byName(node) }, { name: `m-${node}` }));
  };

  it('one that somebody has changed is named and harms nothing; the oldest one goes', async () => {
    const uid = (await kubectl('get', 'nm', 'm-three', '-o', 'jsonpath={.metadata.uid}')).trim();
    await kubectl(
      'patch',
      'configmap',
      `nodemaint-story-${uid}`,
      ...NAMESPACE,
      '--type=merge',
      '-p',
      '{"data":{"story.json":"{"}}',
    );
    assert.match(await nodemaint('history', '--cluster'), / m-three +- +it cannot be read\n/);
    await drainDone('four');
    await untilKept('m-four drained');
    await waitFor('the oldest is gone', async () => (await states()).length === 3, SLOW);
    assert.deepEqual((await states()).toSorted(), ['m-four drained', 'm-three drained', 'm-two ended']);
  });
});
