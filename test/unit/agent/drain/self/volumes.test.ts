import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSelfVolumes } from '../../../../../src/agent/drain/self/volumes.ts';
import type { Pod } from '../../../../../src/api/pod.ts';
import { attachmentName } from '../../../../../src/kube/volume/attachment-name.ts';
import { createRecordingLog } from '../../../../support/agent/recording-log.ts';
import { createObjectServer } from '../../../../support/stand-ins/object-server.ts';
import { createSteppingClock } from '../../../../support/stand-ins/stepping-clock.ts';

const NODE = '/api/v1/nodes/n1';
const DRIVER = 'ebs.csi.aws.com';
const UNIQUE = `kubernetes.io/csi/${DRIVER}^vol-1`;
const NAME = attachmentName({ driver: DRIVER, handle: 'vol-1' }, 'n1');
const ATTACHMENT = `/apis/storage.k8s.io/v1/volumeattachments/${NAME}`;
const WEB: Pod = { metadata: { name: 'web', namespace: 'n', uid: 'w' }, spec: { nodeName: 'n1' } };
const MOUNTED = { metadata: { name: 'n1' }, status: { volumesInUse: [UNIQUE] } };
const FREE = { metadata: { name: 'n1' }, status: {} };
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
    const [found] = await volumes.observe(MOUNTED, [WEB], never);
    assert.deepEqual([found?.name, found?.waitsFor], ['vol-1', 'Unmount']);
    assert.deepEqual(server.asked, []);
  });

  it('a volume that the kubelet has unmounted is asked for by the name of its VolumeAttachment', async () => {
    const attachment = {
      metadata: { name: NAME },
      spec: { attacher: DRIVER, nodeName: 'n1', source: { persistentVolumeName: 'pvc-1' } },
    };
    const { server, clock, volumes } = open({ [NODE]: FREE, [ATTACHMENT]: attachment });
    await volumes.observe(MOUNTED, [WEB], never);
    const [found] = await volumes.observe(FREE, [], never);
    assert.deepEqual([found?.name, found?.waitsFor], ['pvc-1', 'Detach']);
    assert.deepEqual(server.asked, [`GET ${NODE}`, `GET ${ATTACHMENT}`]);
    await volumes.observe(FREE, [], never);
    assert.equal(server.asked.length, 2, 'not more often than every five seconds');
    server.objects.delete(ATTACHMENT);
    clock.pass(5_000);
    assert.deepEqual(await volumes.observe(FREE, [], never), []);
    clock.pass(5_000);
    await volumes.observe(FREE, [], never);
    assert.deepEqual(server.asked.slice(4), [`GET ${NODE}`], 'what is gone is not asked for again');
  });
});
