import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { describe, it } from 'node:test';
import type { Check } from '../../../src/show/checks/node-checks.ts';
import { connectHost } from '../../logind/host.ts';
import { startLogind } from '../../logind/rig.ts';
import { runNodemaint } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';

const NAMES = [
  'lock',
  'lock delay',
  'target time-outs',
  'unit order',
  'kubelet shutdown',
  'kubelet unit',
  'unit paths',
  'trust',
  'other locks',
  'static pods',
  'state directory',
  'runtime',
  'API server',
  'own API server',
  'control plane',
];

describe('nodemaint doctor', () => {
  it('the command finds each fault on a node without an agent and says what to do, with a bus or without', async (t) => {
    const folder = await makeTestFolder('doctor');
    t.after(() => rm(folder, { recursive: true }));
    const keys = { nodeName: 'node-of-the-doctor', kubeletHealthz: undefined, lock: undefined };
    const { configFile: config } = await writeAgentFiles(folder, keys);
    const examine = async (): Promise<ReadonlyMap<string, Check>> => {
      const { stdout, stderr, code } = await runNodemaint(['doctor', '--config', config, '-o', 'json']);
      assert.equal(code, 1, stderr);
      const { items: checks } = JSON.parse(stdout) as { items: Check[] };
      const names = checks.map(({ name }) => name);
      assert.deepEqual(names, NAMES);
      // A check that refers to another one has no advice of its own.
      for (const { result, fix, message } of checks)
        assert.equal(fix === '', result === 'ok' || message.startsWith('not known, see '), message);
      return new Map(checks.map((check) => [check.name, check]));
    };
    {
      await using rig = await startLogind({ inhibitDelayMaxSec: 60 }, t.signal);
      using _host = connectHost(rig);
      const found = await examine();
      assert.match(found.get('lock')?.message ?? '', /no agent answers/);
      assert.match(found.get('lock delay')?.message ?? '', /for 60 s only/);
      assert.match(found.get('static pods')?.message ?? '', /does not exist/);
      assert.match(found.get('runtime')?.message ?? '', /nothing listens there/);
      assert.equal(found.get('API server')?.result, 'ok');
    }
    process.env['DBUS_SYSTEM_BUS_ADDRESS'] = `unix:path=${folder}/no-bus`;
    const withoutBus = await examine();
    assert.match(withoutBus.get('lock delay')?.message ?? '', /no connection to the bus/);
    for (const name of ['target time-outs', 'unit order', 'other locks'])
      assert.equal(withoutBus.get(name)?.message, 'not known, see "lock delay"');
    const { stdout } = await runNodemaint(['doctor', '--config', config]);
    assert.match(
      stdout,
      /^RESULT {2}CHECK .*\nfail .*lock .*no agent answers[\s\S]*\nHow to fix it:\n {2}lock: systemctl start/,
    );
  });
});
