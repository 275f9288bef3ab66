import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, it } from 'node:test';
import {
  cgroupsIn,
  readCgroupText,
  readCommandLine,
  readEachProcess,
  readProcess,
} from '../../../src/host/process-facts.ts';

/** No process has so high an id: the kernel's limit is below it. */
const NOBODY = 2 ** 30;

/** The text of /proc/PID/cgroup, and the groups in it. */
const texts: [string, string, readonly string[]][] = [
  ['the unified hierarchy', '0::/system.slice/kubelet.service\n', ['/system.slice/kubelet.service']],
  [
    'several hierarchies',
    '12:pids:/kubepods/pod1\n1:name=systemd:/kubepods/pod1\n0::/\n',
    ['/kubepods/pod1', '/kubepods/pod1', '/'],
  ],
  ['a name with colons', '0::/kubepods-pod1.slice:cri-containerd:abc\n', ['/kubepods-pod1.slice:cri-containerd:abc']],
  ['a hierarchy without a group', '3:cpu:\n', []],
  ['no text', '', []],
  ['what is no line of it', 'kubelet\n:::/x\n', []],
];

describe('the control groups of a process', () => {
  for (const [what, text, expected] of texts) {
    it(`the control groups are read from ${what}`, () => {
      assert.deepEqual(cgroupsIn(text), expected);
    });
  }
});

describe('the facts about a process', () => {
  it('the facts of this process are its own', async () => {
    const found = await readProcess(process.pid);
    assert.deepEqual(found?.argv.slice(0, 1), [process.argv0]);
    assert.equal(found?.uids[0], process.getuid?.());
    assert.ok((found?.pidNamespaces ?? 0) >= 1);
    assert.deepEqual(await readCommandLine(process.pid), found?.argv);
    assert.equal(await readCgroupText(process.pid), found?.cgroupText);
  });

  it('a process that has ended has none', async () => {
    assert.equal(await readProcess(NOBODY), undefined);
    assert.deepEqual(await readCommandLine(NOBODY), []);
    assert.equal(await readCgroupText(NOBODY), '');
  });

  it('all processes are asked, in the order of their ids, until the signal', async () => {
    const asked: number[] = [];
    const even = await readEachProcess((pid) => {
      asked.push(pid);
      return Promise.resolve(pid % 2 === 0 ? pid : undefined);
    }, new AbortController().signal);
    assert.ok(asked.includes(process.pid));
    assert.deepEqual(
      even,
      asked.filter((pid) => pid % 2 === 0).toSorted((a, b) => a - b),
    );
    await assert.rejects(
      readEachProcess(() => Promise.resolve(1), AbortSignal.abort()),
      { name: 'AbortError' },
    );
  });
});
