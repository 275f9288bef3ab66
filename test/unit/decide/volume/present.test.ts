import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { presentVolumes, type VolumeSources } from '../../../../src/decide/volume/present.ts';
import { attachmentName } from '../../../../src/kube/volume/attachment-name.ts';

const DRIVER = 'hostpath.csi.k8s.io';
const HANDLE = 'vol-1';
const UNIQUE = `kubernetes.io/csi/${DRIVER}^${HANDLE}`;
const NAME = attachmentName({ driver: DRIVER, handle: HANDLE }, 'a');
const ATTACHMENT = {
  metadata: { name: NAME },
  spec: { attacher: DRIVER, nodeName: 'a', source: { persistentVolumeName: 'pvc-1' } },
};

function present(sources: Partial<VolumeSources>): readonly string[] {
  const all = { status: undefined, attachments: [], attachmentNameOf: () => NAME, ...sources };
  return presentVolumes(all).map(({ name, driver, waitsFor, message = '' }) => {
    return [name, driver, waitsFor, message].join(' ').trim();
  });
}

describe('the volumes that are on a node', () => {
  const cases: readonly [title: string, sources: Partial<VolumeSources>, expected: readonly string[]][] = [
    ['nothing', {}, []],
    ['in use', { status: { volumesInUse: [UNIQUE] } }, [`${HANDLE} ${DRIVER} Unmount`]],
    [
      'in use and attached: once',
      { status: { volumesInUse: [UNIQUE], volumesAttached: [{ name: UNIQUE }] }, attachments: [ATTACHMENT] },
      [`pvc-1 ${DRIVER} Unmount`],
    ],
    ['attached by its object', { attachments: [ATTACHMENT] }, [`pvc-1 ${DRIVER} Detach`]],
    [
      'attached by the status of the node and by its object: once',
      { status: { volumesAttached: [{ name: UNIQUE }] }, attachments: [ATTACHMENT] },
      [`pvc-1 ${DRIVER} Detach`],
    ],
    [
      'a detachment that failed',
      { attachments: [{ ...ATTACHMENT, status: { detachError: { message: 'busy' } } }] },
      [`pvc-1 ${DRIVER} Detach busy`],
    ],
    [
      'a driver that is built in',
      { status: { volumesInUse: ['kubernetes.io/iscsi/10.0.0.1:3260:iqn:0'] } },
      ['10.0.0.1:3260:iqn:0 kubernetes.io/iscsi Unmount'],
    ],
    ['a name of no known form', { status: { volumesInUse: ['x'] } }, ['x  Unmount']],
    [
      'a handle with a separator',
      { status: { volumesInUse: [`kubernetes.io/csi/${DRIVER}^a^b/c`] } },
      [`a^b/c ${DRIVER} Unmount`],
    ],
  ];
  for (const [title, sources, expected] of cases) {
    it(`each of them is named once: ${title}`, () => {
      assert.deepEqual(present(sources), expected);
    });
  }
});
