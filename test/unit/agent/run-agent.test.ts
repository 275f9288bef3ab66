import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { askAgent } from '../../../src/agent/control/client.ts';
import type { ControlRequest } from '../../../src/agent/control/protocol.ts';
import { runAgent } from '../../../src/agent/start.ts';
import { loadAgentConfig } from '../../../src/config/load.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { createRecordingLog } from '../../support/agent/recording-log.ts';
import { type AgentSandbox, inSandbox } from '../../support/agent/sandbox.ts';
import { readAgentStatus } from '../../support/commands/nodemaint.ts';
import { waitFor } from '../../support/wait-for.ts';

const FACTS = { manufacturer: 'QEMU', model: '', serial: '', uuid: '', assetTag: '' };

/** Runs an agent of this process in the sandbox; it has ended when the result is disposed of. */
async function runIn(sandbox: AgentSandbox, lines: string[]): Promise<AsyncDisposable> {
  const config = await loadAgentConfig(sandbox.configFile);
  const log = createRecordingLog();
  const stop = new AbortController();
  const readDoctor = () => Promise.resolve({ doctor: 'ok' as const, checks: [] });
  const dependencies = { clock: createSystemClock(), log, readMachineFacts: () => Promise.resolve(FACTS), readDoctor };
  const running = runAgent(config, dependencies, stop.signal, AbortSignal.timeout(60_000));
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
      lines.push(...log.lines);
    },
  };
}

describe('a running agent', () => {
  it('the agent takes commands on its socket, goes on after a restart, and takes the socket away at its end', async () => {
    await inSandbox(async (sandbox) => {
      await sandbox.writeConfig({ kubeletHealthz: '' });
      const { runDirectory } = sandbox;
      const until = async (kind: string): Promise<void> => {
        const isIn = async (): Promise<boolean> => (await readAgentStatus(runDirectory)).phase.kind === kind;
        await waitFor(`the phase is ${kind}`, isIn, { timeoutMs: 20_000 });
      };
      const command = async (request: ControlRequest): Promise<unknown> => await askAgent(runDirectory, request);
      const lines: string[] = [];
      {
        await using _agent = await runIn(sandbox, lines);
        await until('watching');
        await command({ verb: 'trigger', reason: 'power', deadlineMs: 3_600_000 });
        await until('released');
        const { phase } = await readAgentStatus(runDirectory);
        assert.ok(phase.kind === 'released' && phase.deadline !== undefined);
        assert.equal(phase.origin, 'trigger');
      }
      await assert.rejects(access(path.join(runDirectory, 'control.sock')), { code: 'ENOENT' });
      {
        await using _restarted = await runIn(sandbox, lines);
        await until('released');
      }
      assert.equal(lines.filter((line) => line.startsWith('info agent started')).length, 2);
      const found = lines.filter((line) => line.startsWith('error'));
      assert.deepEqual(found, []);
    });
  });
});
