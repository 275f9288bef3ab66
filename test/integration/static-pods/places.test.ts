import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { createDisk } from '../../../src/static-pods/disk/disk.ts';
import { readInPlace, readParked } from '../../../src/static-pods/inventory.ts';
import { Mover } from '../../../src/static-pods/mover.ts';
import { findPlaces } from '../../../src/static-pods/places.ts';
import { createMountRoot } from '../../support/disks/mounts.ts';

const POD = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n';

describe('the place for parked manifests', () => {
  it('the place for parked manifests is beside the one file that the static pod path is, parked or not', async (t) => {
    const { root } = await createMountRoot(t);
    const staticPodPath = path.join(root, 'manifests', 'only.yaml');
    await writeFile(path.join(root, 'manifests', 'kubelet.conf'), 'not a manifest');
    await writeFile(staticPodPath, POD);
    const configured = { staticPodPath, stateDirectory: path.join(root, 'state') };
    const places = await findPlaces(configured);
    const parkedPath = path.join(root, 'manifests', 'nodemaint-parked');
    assert.partialDeepStrictEqual(places, {
      staticPodPath: path.join(root, 'manifests'),
      parkedPath,
      only: 'only.yaml',
    });

    const { signal } = new AbortController();
    const [pod] = (await readInPlace(places, 'node-1', signal)).manifests;
    assert.equal(pod?.podName, 'web-node-1');
    const disk = createDisk();
    const mover = new Mover(places, disk);
    await mover.recover();
    const step = { op: 'park', sha256: '', maintenance: 'm', at: 1, bootId: 'b' } as const;
    await assert.rejects(mover.park({ ...step, file: 'kubelet.conf' }), /refusing to move a manifest/);
    await mover.park({ ...step, file: 'only.yaml' });
    assert.deepEqual(await findPlaces(configured), places, 'the place of the missing file is still known');
    assert.deepEqual((await readInPlace(places, 'node-1', signal)).manifests, []);
    const found = (await readParked({ ...places, nodeName: 'node-1' }, mover.parkSteps(), disk, signal))[0]?.file;
    assert.equal(found, 'only.yaml');
    assert.equal(await mover.restore('only.yaml'), 'restored');
    assert.deepEqual(await readInPlace(places, 'node-1', signal), { manifests: [pod], invalid: [] });
  });
});
