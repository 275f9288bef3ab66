/** The whole agent on a real logind: what holds a shutdown, what ends the hold, and what does not. */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { AgentStatus } from '../../../src/agent/control/status.ts';
import type { Program } from '../../control-plane/process.ts';
import { connectHost, type HostClients } from '../../logind/host.ts';
import { type Logind, startLogind } from '../../logind/rig.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import { makeTestFolder } from '../../support/folder.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';
import { waitFor } from '../../support/wait-for.ts';

const HOLD_MS = 300;
const MANIFEST = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'low' },
  spec: { containers: [{ name: 'c', image: 'x' }] },
};

/**
 * A standalone agent with one static pod. There is neither kubelet nor runtime, so it can never tell that the pod ended:
 * its drain lasts until the test ends it.
 */
class Bench implements AsyncDisposable {
  readonly rig: Logind;
  readonly host: HostClients;
  readonly folder: string;
  #agent: Program | undefined;

  private constructor(rig: Logind, folder: string) {
    this.rig = rig;
    this.host = connectHost(rig);
    this.folder = folder;
  }

  static async create(t: TestContext): Promise<Bench> {
    const rig = await startLogind({ inhibitDelayMaxSec: 60 }, t.signal);
    const folder = await makeTestFolder('hold');
    const bench = new Bench(rig, folder);
    const alive = { NODEMAINT_ALIVE_FILE: path.join(bench.runDirectory, 'alive') };
    rig.standIn.holderEnvironment = { ...rig.standIn.holderEnvironment, ...alive };
    await mkdir(path.join(folder, 'manifests'));
    await writeFile(path.join(folder, 'manifests', 'low.yaml'), JSON.stringify(MANIFEST));
    await writeAgentFiles(folder, { nodeName: 'node-a', kubeletHealthz: undefined, lock: undefined });
    return bench;
  }

  get runDirectory(): string {
    return path.join(this.folder, 'run');
  }

  async start(): Promise<AgentStatus> {
    this.#agent = startNodemaint(
      ['agent', '--config', path.join(this.folder, 'config.yaml')],
      path.join(this.folder, 'agent.log'),
    );
    return await this.statusWhere(({ lock }) => lock.message !== '');
  }

  async kill(): Promise<void> {
    this.#agent?.kill('SIGKILL');
    await waitFor('the agent is gone', () => this.#agent?.exited() === true);
  }

  async statusWhere(claim: (status: AgentStatus) => boolean): Promise<AgentStatus> {
    let last: AgentStatus | undefined;
    const seen = async (): Promise<boolean> => {
      last = await readAgentStatus(this.runDirectory).catch(() => undefined);
      return last !== undefined && claim(last);
    };
    await waitFor(`status: ${String(claim)}`, seen, { timeoutMs: 20_000 }).catch(async (error: unknown) => {
      const log = await readFile(path.join(this.folder, 'agent.log'), 'utf8');
      throw new Error(`${JSON.stringify(last)}\n${log}`, { cause: error });
    });
    return last as AgentStatus;
  }

  async log(): Promise<string> {
    return await readFile(path.join(this.folder, 'agent.log'), 'utf8');
  }

  /** Begins a shutdown and waits until the agent holds it. */
  async held(): Promise<AgentStatus> {
    await this.rig.reboot();
    return await this.statusWhere(({ phase, waitingFor }) => phase.kind === 'draining' && waitingFor.length === 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.rig.standIn.stop();
    this.host[Symbol.dispose]();
    await this.rig[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true });
  }
}

function kindOf(status: AgentStatus): string {
  return status.phase.kind;
}

describe('the agent on a real logind', () => {
  it('the agent holds a reboot over its own death, restarts of logind and of the bus, until it is released', async (t) => {
    await using bench = await Bench.create(t);
    await bench.start();
    const { lock } = await bench.statusWhere((now) => now.lock.delay !== undefined);
    assert.equal(lock.held, true);
    assert.equal(lock.delay?.limitMs, 60_000);
    assert.match(lock.delay?.problem ?? '', /60 s only/);
    assert.equal(lock.deadManMs, 180_000);

    const before = await bench.held();
    await bench.kill();
    await delay(HOLD_MS);
    assert.deepEqual(bench.rig.startedTargets(), []);
    const after = await bench.start();
    assert.deepEqual(after.phase, before.phase);
    assert.equal(after.lock.held, true);

    const release = ['release', '--reason', 'the disk is on fire', '--run-directory', bench.runDirectory];
    assert.deepEqual(await runNodemaint(release), {
      stdout: 'The shutdown no longer waits for the pods of this node.\n',
      stderr: '',
      code: 0,
    });
    await waitFor('reboot.target', () => bench.rig.startedTargets().length > 0);
    const status = await bench.statusWhere(({ phase }) => phase.kind === 'released');
    assert.match(status.summary, /not drained, .*the disk is on fire/);
    assert.match(await bench.log(), /"reason":"ShutdownForced"/);
    // The machine is back.
    await bench.kill();
    bench.rig.standIn.systemState = 'running';
    bench.rig.standIn.finishJob();
    await writeFile(path.join(bench.folder, 'boot-id'), 'boot-2\n');
    await bench.start();
    await bench.statusWhere((now) => kindOf(now) === 'watching' && now.inPlace.length === 1);
  });

  it('the agent asks again for a shutdown that logind forgot in a restart, and holds it as before', async (t) => {
    await using bench = await Bench.create(t);
    await bench.start();
    await bench.rig.restartLogind('SIGKILL');
    await bench.rig.restartDbus();
    await bench.statusWhere(({ lock }) => lock.held);
    await bench.held();
    await delay(HOLD_MS);
    assert.deepEqual(bench.rig.startedTargets(), []);
    await bench.rig.restartLogind('SIGTERM');
    await waitFor('logind prepares again', () => bench.host.login1.preparingForShutdown(t.signal).catch(() => false));
    await delay(HOLD_MS);
    assert.deepEqual(bench.rig.startedTargets(), []);
    assert.equal((await readAgentStatus(bench.runDirectory)).phase.kind, 'draining');
    assert.match(await bench.log(), /logind was restarted and has forgotten the shutdown/);
    // Both at once: the new logind has the old one's name on the new bus.
    await bench.rig.restartDbus();
    await waitFor('logind prepares again', () => bench.host.login1.preparingForShutdown(t.signal).catch(() => false));
    await delay(HOLD_MS);
    assert.equal((await readAgentStatus(bench.runDirectory)).phase.kind, 'draining');
    assert.equal((await bench.log()).match(/has forgotten the shutdown/g)?.length, 2);
    await runNodemaint(['release', '--run-directory', bench.runDirectory]);
    await waitFor('reboot.target', () => bench.rig.startedTargets().length > 0);
  });

  it('the agent warns that logind is off the bus, and goes on when it is back', async (t) => {
    await using bench = await Bench.create(t);
    await bench.start();
    await bench.rig.stopLogind();
    await bench.statusWhere(({ lock }) => /logind is not on the bus.*restart systemd-logind/.test(lock.message));
    await bench.rig.restartLogind('SIGTERM');
    await bench.statusWhere(({ lock }) => lock.held);
  });

  it('nodemaint release refuses to release what is not held, and without an agent gives back the lock that the agent left', async (t) => {
    await using bench = await Bench.create(t);
    await bench.start();
    const release = ['release', '--run-directory', bench.runDirectory];
    const refused = await runNodemaint(release);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /no shutdown is held on this node/);
    await bench.held();
    await bench.kill();
    assert.match((await runNodemaint(release)).stdout, /No agent answers; the lock that it left is released/);
    await waitFor('reboot.target', () => bench.rig.startedTargets().length > 0);
  });

  it('the agent reports after a boot that the shutdown did not wait', async (t) => {
    await using bench = await Bench.create(t);
    await bench.start();
    await bench.held();
    await bench.kill();
    bench.rig.standIn.stop();
    await waitFor('the machine goes down', () => bench.rig.startedTargets().length > 0);
    bench.rig.standIn.systemState = 'running';
    bench.rig.standIn.finishJob();
    await writeFile(path.join(bench.folder, 'boot-id'), 'boot-2\n');
    await bench.start();
    await bench.statusWhere((now) => kindOf(now) === 'watching' && now.parked.length === 0);
    assert.match(await bench.log(), /went down before its pods had ended/);
    assert.deepEqual(await readdir(path.join(bench.folder, 'manifests')), ['low.yaml']);
  });
});
