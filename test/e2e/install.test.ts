/** An upgrade on a real machine to a build that does not come up: the old agent runs on, and holds the next shutdown. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allBack, runCase } from './machine/shutdown-case.ts';
import { standaloneNode } from './machine/standalone-node.ts';

const OPTIONS = { timeoutMs: 900_000 };
const NEXT = `cp -r /root/nodemaint /root/next
sed -i '1a if (process.argv[2] === "agent") throw new Error("no agent today");' /root/next/dist/nodemaint.cjs`;

describe('an upgrade to a build that does not come up, on a real machine', () => {
  it('the upgrade leaves the old agent, which holds the next shutdown', async () => {
    await using machine = await standaloneNode({ stopSec: 4 }, new AbortController().signal);
    const good = await machine.must('readlink /usr/lib/nodemaint/current');
    await machine.must(NEXT, OPTIONS);
    const { code, stderr } = await machine.ssh('/root/next/install.sh --standalone', OPTIONS);
    console.log(stderr);
    assert.notEqual(code, 0);
    assert.match(stderr, /no agent today[^]*earlier installation .* runs again/);
    assert.equal(await machine.must('readlink /usr/lib/nodemaint/current'), good);
    await allBack(machine);
    console.log(await runCase(machine, { name: 'systemctl reboot', begin: 'systemctl reboot', ends: 'reboot' }));
  });
});
