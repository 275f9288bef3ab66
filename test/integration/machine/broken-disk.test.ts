/** An agent whose state directory takes no write, on real file systems: full, and read-only. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { askAgent } from '../../../src/agent/control/client.ts';
import type { AgentStatus } from '../../../src/agent/control/status.ts';
import { type Program } from '../../control-plane/process.ts';
import { fillUp } from '../../support/disks/full-disk.ts';
import { createMountRoot, type MountRoot } from '../../support/disks/mounts.ts';
import { startNodemaint } from '../../support/commands/nodemaint.ts';
import {
  startStaticPodRuntime,
  type StaticPodRuntime,
  STOP_SECONDS_ANNOTATION,
} from '../../support/stand-ins/static-pod-runtime.ts';
import { waitFor } from '../../support/wait-for.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';

const NODE = 'broken-disk';
const IN_PLACE = 'pods/manifests';
const PARKED = 'pods/parked';
const TIMEOUT_MS = 90_000;
/** Longer than it takes to start an agent again. */
const SLOW_SEC = 4;

function manifest(name: string, priority: number, stopSec: number): string {
  const metadata = { name, annotations: { [STOP_SECONDS_ANNOTATION]: String(stopSec) } };
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { priority } });
}

/** A standalone agent with two static pods, and file systems of its own for what it writes. */
class Bench implements AsyncDisposable {
  readonly root: string;
  readonly mounts: MountRoot;
  readonly #runtime: StaticPodRuntime;
  #agent: Program | undefined;

  private constructor(mounts: MountRoot, runtime: StaticPodRuntime) {
    this.root = mounts.root;
    this.mounts = mounts;
    this.#runtime = runtime;
  }

  static async create(t: TestContext, stopSec = 1, more: object = {}): Promise<Bench> {
    const mounts = await createMountRoot(t);
    const { root } = mounts;
    for (const folder of ['run', 'pods']) await mkdir(path.join(root, folder));
    // A manifest is parked by a rename, so that both directories are on one file system.
    for (const folder of ['state', 'pods']) mounts.mountSmall(folder);
    const [staticPodPath, parkedPath] = [path.join(root, IN_PLACE), path.join(root, PARKED)];
    for (const folder of [staticPodPath, parkedPath]) await mkdir(folder);
    await writeFile(path.join(staticPodPath, 'low.yaml'), manifest('low', 0, stopSec));
    await writeFile(path.join(staticPodPath, 'high.yaml'), manifest('high', 2_000_001_000, stopSec));
    const socketPath = path.join(root, 'cri.sock');
    const runtime = await startStaticPodRuntime({ staticPodPath, socketPath, nodeName: NODE }, t.signal);
    await writeAgentFiles(root, { nodeName: NODE, staticPodPath, parkedPath, ...more });
    return new Bench(mounts, runtime);
  }

  async start(): Promise<void> {
    this.#agent = startNodemaint(['agent', '--config', path.join(this.root, 'config.yaml')], this.logFile);
    await this.until('the agent answers', ({ node }) => node === NODE);
  }

  async kill(): Promise<void> {
    this.#agent?.kill('SIGKILL');
    await this.#agent?.stop();
  }

  /** Ends what ends with a boot, and starts the agent in the next one. */
  async reboot(): Promise<void> {
    await this.kill();
    await rm(path.join(this.root, 'run'), { recursive: true });
    await mkdir(path.join(this.root, 'run'));
    await writeFile(path.join(this.root, 'boot-id'), `boot-${Date.now()}`);
    await this.start();
  }

  async status(): Promise<AgentStatus> {
    return (await askAgent(path.join(this.root, 'run'), { verb: 'status' })) as AgentStatus;
  }

  async until(what: string, claim: (status: AgentStatus) => boolean): Promise<AgentStatus> {
    let last: AgentStatus | undefined;
    const seen = async (): Promise<boolean> => {
      last = await this.status().catch(() => undefined);
      return last !== undefined && claim(last);
    };
    const options = { timeoutMs: TIMEOUT_MS, ...(this.#agent === undefined ? {} : { program: this.#agent }) };
    await waitFor(what, seen, options).catch(async (error: unknown) => {
      throw new Error(`${JSON.stringify(last)}\n${await this.log()}`, { cause: error });
    });
    return last as AgentStatus;
  }

  async tell(verb: 'trigger' | 'release'): Promise<void> {
    await askAgent(path.join(this.root, 'run'), { verb, reason: 'test' });
  }

  async log(): Promise<string> {
    return await readFile(this.logFile, 'utf8');
  }

  /** Files of the static pods and where they are; dot files are the mover's. */
  async files(): Promise<{ readonly inPlace: readonly string[]; readonly parked: readonly string[] }> {
    const list = async (folder: string): Promise<readonly string[]> =>
      (await readdir(path.join(this.root, folder))).filter((name) => !name.startsWith('.')).sort();
    return { inPlace: await list(IN_PLACE), parked: await list(PARKED) };
  }

  /** Names of the pods that run. */
  running(): readonly string[] {
    return this.#runtime
      .pods()
      .filter(({ state }) => state() !== 'ended')
      .map(({ manifest: { file } }) => file)
      .sort();
  }

  breakDisk(how: 'full' | 'read-only', folder: 'state' | 'pods' = 'state'): void {
    const place = path.join(this.root, folder);
    if (how === 'full') fillUp(place);
    else execFileSync('mount', ['-o', 'remount,ro', place]);
  }

  async repairDisk(): Promise<void> {
    const place = path.join(this.root, 'state');
    execFileSync('mount', ['-o', 'remount,rw', place]);
    await rm(path.join(place, '.filler'), { force: true });
  }

  private get logFile(): string {
    return path.join(this.root, 'agent.log');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.#runtime[Symbol.asyncDispose]();
  }
}

const BOTH = ['high.yaml', 'low.yaml'];

for (const how of ['full', 'read-only'] as const) {
  describe(`an agent whose state directory is ${how}`, () => {
    it('the agent starts, drains in order, releases the shutdown, says why it writes nothing, and puts all manifests back after the boot', async (t) => {
      await using bench = await Bench.create(t);
      bench.breakDisk(how);
      await bench.start();
      const idle = await bench.until('the agent watches', ({ storageProblem }) => storageProblem !== undefined);
      assert.match(idle.storageProblem ?? '', /cannot write .*state\/.*(?:ENOSPC|EROFS)/);
      await bench.tell('trigger');
      await bench.until('low leaves first', () => bench.running().includes('high.yaml'));
      const released = await bench.until('the machine may go down', ({ phase }) => phase.kind === 'released');
      assert.match(released.summary, /^drained: /);
      assert.deepEqual(bench.running(), []);
      assert.deepEqual(await bench.files(), { inPlace: [], parked: BOTH });
      const log = await bench.log();
      assert.ok(log.indexOf('"manifest":"low.yaml"') < log.indexOf('"manifest":"high.yaml"'), log);
      assert.equal(log.match(/StateNotSaved/g)?.length, 1, 'once, not each second');

      await bench.repairDisk();
      await bench.reboot();
      const isBack = ({ phase, inPlace }: AgentStatus): boolean => phase.kind === 'watching' && inPlace.length === 2;
      assert.equal((await bench.until('all is back', isBack)).storageProblem, undefined);
      assert.deepEqual(await bench.files(), { inPlace: BOTH, parked: [] });
    });

    it('the agent gives the manifests back after a boot on the same disk', async (t) => {
      await using bench = await Bench.create(t);
      await bench.start();
      bench.breakDisk(how);
      await bench.tell('trigger');
      await bench.until('the machine may go down', ({ phase }) => phase.kind === 'released');
      await bench.reboot();
      await bench.until('all is back', ({ phase, inPlace }) => phase.kind === 'watching' && inPlace.length === 2);
      assert.deepEqual(await bench.files(), { inPlace: BOTH, parked: [] });
    });

    it('the agent continues where it was when it is killed in the middle of a drain', async (t) => {
      await using bench = await Bench.create(t, SLOW_SEC);
      await bench.start();
      bench.breakDisk(how);
      await bench.tell('trigger');
      const before = await bench.until('low leaves', ({ parked }) => parked.includes('low.yaml'));
      await bench.kill();
      await bench.start();
      const after = await bench.until('it has looked', ({ parked }) => parked.length > 0);
      assert.deepEqual(after.phase, before.phase);
      assert.deepEqual((await bench.log()).match(/"msg":"restored manifest"/g), null, 'nothing came back meanwhile');
      await bench.until('the machine may go down', ({ phase }) => phase.kind === 'released');
      assert.deepEqual(await bench.files(), { inPlace: [], parked: BOTH });
      await bench.repairDisk();
      await bench.until('it is all on the disk', ({ storageProblem }) => storageProblem === undefined);
      assert.ok(!(await readdir(path.join(bench.root, 'run'))).includes('journal'), 'no step waits for the disk');
      assert.deepEqual(await readdir(path.join(bench.root, 'run', 'state')), []);
    });

    it('the agent waits no longer when a person releases the shutdown', async (t) => {
      await using bench = await Bench.create(t, 600);
      bench.breakDisk(how);
      await bench.start();
      await bench.tell('trigger');
      await bench.until('the shutdown is held', ({ phase, parked }) => phase.kind === 'draining' && parked.length > 0);
      await bench.tell('release');
      await bench.until('the machine may go down', ({ phase }) => phase.kind === 'released');
    });
  });
}

describe('an agent whose manifests cannot be moved', () => {
  it('the agent releases the shutdown when no kubelet can be stopped either, says why, and moves nothing', async (t) => {
    await using bench = await Bench.create(t);
    await bench.start();
    bench.breakDisk('read-only', 'pods');
    await bench.tell('trigger');
    const { summary } = await bench.until('the machine may go down', ({ phase }) => phase.kind === 'released');
    assert.match(
      summary,
      /^not drained, .*manifests cannot be moved, and the kubelet cannot be stopped: default\/\S+, default\/\S+/,
    );
    assert.deepEqual(await bench.files(), { inPlace: BOTH, parked: [] });
    assert.equal((await bench.log()).match(/"manifest":"low.yaml".*static pod action failed/g)?.length, 1);
  });
});
