import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSelfVolumes } from '../../../../../src/agent/drain/self/volumes.ts';
import type { Pod } from '../../../../../src/api/pod.ts';
import { createRecordingLog } from '../../../../support/agent/recording-log.ts';
import { createObjectServer } from '../../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const NODE = '/api/v1/nodes/n1';
const UNIQUE = 'kubernetes.io/csi/ebs.csi.aws.com^vol-1';
const WEB: Pod = { metadata: { name: 'web', namespace: 'n', uid: 'w' }, spec: { nodeName: 'n1' } };
const MOUNTED = { metadata: { name: 'n1' }, status: { volumesInUse: [UNIQUE] } };
const never = new AbortController().signal;

function open(objects: Readonly<Record<string, object>>) {
  const server = createObjectServer({ ...objects });
  const clock = createSteppingClock();
  const dependencies = {
    client: server.client,
    clock,
    log: createRecordingLog(),
    nodeName: 'n1',
    onChange: () => undefined,
  };
  return { server, clock, volumes: createSelfVolumes(dependencies) };
}

describe("the volumes of the agent's own node", () => {
  it('nothing is asked for while other pods are left', async () => {
    const { server, volumes } = open({ [NODE]: MOUNTED });
    assert.deepEqual(await volumes.observe([WEB], never), []);
    assert.deepEqual(server.asked, []);
  });

  it('the node is read every five seconds, and the wait has one beginning', async () => {
    const { server, clock, volumes } = open({ [NODE]: MOUNTED });
    const begun = clock.now();
    assert.deepEqual(await volumes.observe([], never), [UNIQUE]);
    await volumes.observe([], never);
    assert.deepEqual(server.asked, [`GET ${NODE}`]);
    clock.pass(5_000);
    assert.deepEqual(await volumes.observe([], never), [UNIQUE]);
    assert.equal(volumes.since(), begun);
    server.objects.set(NODE, { metadata: { name: 'n1' }, status: {} });
    clock.pass(5_000);
    assert.deepEqual(await volumes.observe([], never), []);
    assert.equal(volumes.since(), undefined);
  });
});
