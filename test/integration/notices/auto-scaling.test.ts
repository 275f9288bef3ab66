import assert from 'node:assert/strict';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { AgentStatus } from '../../../src/agent/control/status.ts';
import { ec2MetadataMockBinary } from '../../ec2-metadata-mock/binary.ts';
import { startEc2MetadataMock } from '../../ec2-metadata-mock/mock.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';
import { readAgentStatus, startNodemaint } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { type AutoScaling, MOCKED, startAutoScaling } from '../../support/stand-ins/auto-scaling.ts';
import { waitFor } from '../../support/wait-for.ts';

const SIGNAL = AbortSignal.timeout(240_000);

describe('an instance that its Auto Scaling group terminates', () => {
  let folder: string;
  before(async () => {
    folder = await makeTestFolder('auto-scaling');
    await ec2MetadataMockBinary(SIGNAL);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  /** An agent whose drain begins with the public mock's notice, and goes on when `letGo` is called. */
  const startAgent = async (
    name: string,
    group: AutoScaling,
  ): Promise<AsyncDisposable & { status(): Promise<AgentStatus>; letGo(): Promise<void> }> => {
    await using stack = new AsyncDisposableStack();
    const own = path.join(folder, name);
    const hooksDirectory = path.join(own, 'hooks');
    const moment = path.join(hooksDirectory, 'pre-drain');
    const gate = path.join(own, 'gate');
    await mkdir(path.join(own, 'manifests'), { recursive: true });
    await mkdir(moment, { recursive: true, mode: 0o755 });
    const hook = path.join(moment, '10-wait');
    await writeFile(hook, `#!/bin/sh\nwhile [ ! -e ${gate} ]; do sleep 0.1; done\n`);
    await chmod(hook, 0o755);
    const mock = stack.use(await startEc2MetadataMock({ args: ['asglifecycle'], folder: own }, SIGNAL));
    const cloud = {
      provider: 'aws',
      metadataUrl: mock.url,
      awsLifecycleHook: MOCKED.hook,
      awsHeartbeatSec: 10,
      awsAutoScalingUrl: group.url,
    };
    const files = await writeAgentFiles(own, { cloud, hooksDirectory, hookTimeoutSec: 120 });
    const program = startNodemaint(['agent', '--config', files.configFile], path.join(own, 'agent.log'));
    stack.use(program);
    const status = (): Promise<AgentStatus> => readAgentStatus(files.runDirectory);
    const isUp = async (): Promise<boolean> => (await status()).phase.kind === 'draining';
    await waitFor('the agent drains', isUp, { timeoutMs: 60_000, program, signal: SIGNAL });
    const owned = stack.move();
    return { status, letGo: () => writeFile(gate, ''), [Symbol.asyncDispose]: () => owned.disposeAsync() };
  };

  it('an instance is kept by heartbeats while its node drains, and given back when that is over', async () => {
    await using group = await startAutoScaling(MOCKED);
    await using agent = await startAgent('kept', group);
    const beats = (): number => group.accepted.filter((action) => action.endsWith('Heartbeat')).length;
    await waitFor('two heartbeats', () => Promise.resolve(beats() >= 2), { timeoutMs: 40_000, signal: SIGNAL });
    assert.equal(group.accepted.includes('CompleteLifecycleAction'), false);
    await agent.letGo();
    const isGiven = (): Promise<boolean> => Promise.resolve(group.accepted.includes('CompleteLifecycleAction'));
    await waitFor('the instance is given back', isGiven, { timeoutMs: 30_000, signal: SIGNAL });
    const { phase, warnings } = await agent.status();
    assert.equal(phase.kind, 'released');
    assert.deepEqual(warnings, []);
    assert.equal(group.accepted.at(-1), 'CompleteLifecycleAction', 'nothing follows it');
  });

  it('a group that refuses, and one that never answers, are named in the status and hold no shutdown', async () => {
    await using group = await startAutoScaling({ ...MOCKED, secretAccessKey: 'another' });
    await using agent = await startAgent('refused', group);
    const named = (sentence: RegExp) => async (): Promise<boolean> =>
      (await agent.status()).warnings.some((warning) => sentence.test(warning));
    const refused = /cannot tell the provider that the node still drains .*: HTTP 403, SignatureDoesNotMatch/;
    await waitFor('the refusal is named', named(refused), { timeoutMs: 30_000, signal: SIGNAL });
    group.instead = () => new Promise(() => undefined);
    await agent.letGo();
    const isReleased = async (): Promise<boolean> => (await agent.status()).phase.kind === 'released';
    await waitFor('the machine may go down', isReleased, { timeoutMs: 20_000, signal: SIGNAL });
    const silent = /cannot tell the provider that the node is drained .*: no answer within 20 s/;
    await waitFor('the silence is named', named(silent), { timeoutMs: 60_000, signal: SIGNAL });
  });
});
