import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { podsWithProcesses } from '../../../src/host/pod-cgroups.ts';
import { temporaryFolder } from '../../support/folder.ts';

const SIGNAL = new AbortController().signal;
const UIDS = ['a', 'b', 'c'].map((letter) => `${letter.repeat(8)}-0000-4000-8000-${letter.repeat(12)}`);

describe('the pods that have processes', () => {
  const layouts: readonly (readonly [string, (uid: string) => string])[] = [
    [
      'cgroup v2 and systemd',
      (uid) => `kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${uid.replaceAll('-', '_')}.slice`,
    ],
    ['cgroup v2 below a group of the kubelet', (uid) => `kubelet/kubepods/pod${uid}`],
    ['cgroup v1', (uid) => `memory/kubepods/besteffort/pod${uid}`],
  ];
  for (const [what, groupOf] of layouts) {
    it(`with ${what} they are those in whose control groups, or below, a process is`, async (t) => {
      const root = await temporaryFolder(t, 'groups');
      for (const [index, uid] of UIDS.entries()) {
        const group = path.join(root, groupOf(uid));
        await mkdir(path.join(group, 'container'), { recursive: true });
        await writeFile(path.join(group, 'cgroup.procs'), index === 1 ? '7\n' : '');
        await writeFile(path.join(group, 'container', 'cgroup.procs'), index === 2 ? '8\n9\n' : '');
      }
      assert.deepEqual(await podsWithProcesses(SIGNAL, root), new Set(UIDS.slice(1)));
    });
  }

  it('they are none where all control groups are gone, and not known where the kubelet makes none', async (t) => {
    const root = await temporaryFolder(t, 'groups');
    await mkdir(path.join(root, 'system.slice'));
    assert.equal(await podsWithProcesses(SIGNAL, root), undefined);
    assert.equal(await podsWithProcesses(SIGNAL, path.join(root, 'none')), undefined);
    await mkdir(path.join(root, 'kubepods.slice', 'kubepods-besteffort.slice'), { recursive: true });
    assert.deepEqual(await podsWithProcesses(SIGNAL, root), new Set());
    await mkdir(path.join(root, `kubepods.slice/kubepods-pod${UIDS[0] ?? ''}.slice/cgroup.procs`), { recursive: true });
    assert.deepEqual(await podsWithProcesses(SIGNAL, root), new Set(UIDS.slice(0, 1)), 'one that cannot be read');
  });
});
