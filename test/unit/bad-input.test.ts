import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { waitUntil } from '../control-plane/process.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../support/nodemaint.ts';

// User and group nobody, and the group daemon, of every Debian.
const [NOBODY, DAEMON] = [65_534, 1];
const POD = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: x}]}\n';

interface Sandbox {
  readonly root: string;
  readonly staticPodPath: string;
  readonly runDirectory: string;
  readonly configFile: string;
  writeConfig(extra?: Readonly<Record<string, unknown>>): Promise<void>;
}

async function inSandbox(body: (sandbox: Sandbox) => Promise<void>): Promise<void> {
  const root = await mkdtemp(path.join(tmpdir(), 'nodemaint-bad-'));
  const staticPodPath = path.join(root, 'manifests');
  const runDirectory = path.join(root, 'run');
  const configFile = path.join(root, 'config.yaml');
  await mkdir(staticPodPath);
  const writeConfig = async (extra: Readonly<Record<string, unknown>> = {}): Promise<void> => {
    const config = {
      apiVersion: 'agent.nodemaintenance.x-k8s.io/v1alpha1',
      kind: 'AgentConfiguration',
      nodeName: 'n',
      kubeconfig: '',
      staticPodPath,
      stateDirectory: path.join(root, 'state'),
      runDirectory,
      containerRuntimeEndpoint: `unix://${root}/cri.sock`,
      lock: 'none',
      ...extra,
    };
    await writeFile(configFile, JSON.stringify(config));
  };
  await writeConfig();
  try {
    await body({ root, staticPodPath, runDirectory, configFile, writeConfig });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** What the agent says and its exit code when it cannot start. */
async function refusal({ configFile }: Sandbox): Promise<{ code: number; stderr: string }> {
  const { code, stderr, stdout } = await runNodemaint(['agent', '--config', configFile]);
  assert.equal(stdout, '', 'nothing but the message');
  assert.doesNotMatch(stderr, /at .*\.ts:\d+/, 'no stack trace');
  return { code, stderr };
}

async function withAgent(sandbox: Sandbox, body: () => Promise<void>): Promise<string> {
  const logFile = path.join(sandbox.root, 'agent.log');
  {
    await using agent = startNodemaint(['agent', '--config', sandbox.configFile], logFile);
    const answers = async (): Promise<boolean> => (await readAgentStatus(sandbox.runDirectory)).node === 'n';
    await waitUntil('the agent answers', answers, { timeoutMs: 20_000, program: agent }, AbortSignal.timeout(20_000));
    await body();
  }
  return await readFile(logFile, 'utf8');
}

/** What the agent answers on its control socket until it closes the connection. */
async function sayTo({ runDirectory }: Sandbox, text: string, then?: 'and ends'): Promise<string> {
  return await new Promise((resolve) => {
    let answer = '';
    const socket = createConnection({ path: path.join(runDirectory, 'control.sock'), allowHalfOpen: true });
    socket.on('data', (chunk) => {
      answer += chunk.toString();
    });
    socket.on('end', () => socket.end());
    socket.on('error', () => undefined);
    socket.on('close', () => {
      resolve(answer);
    });
    if (then === undefined) socket.write(text);
    else socket.end(text);
  });
}

describe('bad input', () => {
  it('an unknown key of the configuration is named, with the file', async () => {
    await inSandbox(async (sandbox) => {
      await sandbox.writeConfig({ staticPodPaht: '/x' });
      const { code, stderr } = await refusal(sandbox);
      assert.equal(code, 2);
      assert.match(stderr, /config\.yaml is not a valid configuration:\n.*"staticPodPaht"/);
      assert.match(stderr, /docs\/configuration\.md/);
    });
  });

  it('a value out of bounds is named by its path', async () => {
    await inSandbox(async (sandbox) => {
      await sandbox.writeConfig({ apiWaitSec: 0, drainPlan: [{ podType: 'Pod', podPriority: 1 }] });
      const { stderr } = await refusal(sandbox);
      assert.match(stderr, /at apiWaitSec/);
      assert.match(stderr, /at drainPlan\[0\]\.podType/);
    });
  });

  it('a configuration that is no YAML, or not there, is named', async () => {
    await inSandbox(async (sandbox) => {
      await writeFile(sandbox.configFile, 'a: [1\nb: {');
      assert.match((await refusal(sandbox)).stderr, /config\.yaml is not valid YAML/);
      await rm(sandbox.configFile);
      assert.match((await refusal(sandbox)).stderr, /cannot read the configuration .*config\.yaml.*--config/);
    });
  });

  it('an unreadable kubeconfig is named, and one without a cluster', async () => {
    await inSandbox(async (sandbox) => {
      const kubeconfig = path.join(sandbox.root, 'kubelet.conf');
      await sandbox.writeConfig({ kubeconfig });
      const missing = await refusal(sandbox);
      assert.equal(missing.code, 1);
      assert.match(missing.stderr, /cannot read the kubeconfig .*kubelet\.conf: ENOENT.*"kubeconfig"/);
      await writeFile(kubeconfig, 'apiVersion: v1\nkind: Config\n');
      assert.match((await refusal(sandbox)).stderr, /kubelet\.conf.*(current context|cannot read)/);
      await writeFile(kubeconfig, '}{');
      assert.match((await refusal(sandbox)).stderr, /cannot read the kubeconfig .*kubelet\.conf/);
    });
  });

  it('a missing static pod directory is named, with the fix', async () => {
    await inSandbox(async (sandbox) => {
      await rm(sandbox.staticPodPath, { recursive: true });
      const { stderr } = await refusal(sandbox);
      assert.match(stderr, /the static pod directory .*manifests does not exist: create it/);
    });
  });

  it('a manifest that does not parse is named and left alone; the others are looked after', async () => {
    await inSandbox(async (sandbox) => {
      const broken = path.join(sandbox.staticPodPath, 'broken.yaml');
      await writeFile(broken, 'kind: [');
      await writeFile(path.join(sandbox.staticPodPath, 'good.yaml'), POD);
      const log = await withAgent(sandbox, async () => {
        const { inPlace } = await readAgentStatus(sandbox.runDirectory);
        assert.deepEqual(inPlace, ['good.yaml']);
      });
      assert.match(log, /manifests\/broken\.yaml/);
      assert.equal(await readFile(broken, 'utf8'), 'kind: [');
    });
  });

  it('a second agent on the node is refused, and the first goes on', async () => {
    await inSandbox(async (sandbox) => {
      await withAgent(sandbox, async () => {
        const { code, stderr } = await refusal(sandbox);
        assert.equal(code, 1);
        assert.match(stderr, /another agent already runs on this node.*control\.sock.*systemctl stop nodemaint/);
        assert.equal((await readAgentStatus(sandbox.runDirectory)).phase.kind, 'watching');
      });
    });
  });

  it('a socket that a killed agent left behind is taken over', async () => {
    await inSandbox(async (sandbox) => {
      const agent = startNodemaint(['agent', '--config', sandbox.configFile], path.join(sandbox.root, 'first.log'));
      const there = async (): Promise<boolean> => (await readdir(sandbox.runDirectory)).includes('control.sock');
      await waitUntil('the socket is there', there, { timeoutMs: 20_000, program: agent }, AbortSignal.timeout(20_000));
      agent.kill('SIGKILL');
      await agent.stop();
      await withAgent(sandbox, () => Promise.resolve());
    });
  });

  it('a damaged journal stops the agent and loses nothing', async () => {
    await inSandbox(async (sandbox) => {
      await mkdir(path.join(sandbox.root, 'state'), { recursive: true });
      await mkdir(path.join(sandbox.root, 'nodemaint-parked'));
      await writeFile(path.join(sandbox.root, 'nodemaint-parked', 'web.yaml'), POD);
      await writeFile(path.join(sandbox.root, 'state', 'journal'), '0123456789abcdef {"op":"park"}\n{}\n');
      assert.match((await refusal(sandbox)).stderr, /line 1 of the journal .*is damaged.*parked directory/);
      assert.deepEqual(await readdir(path.join(sandbox.root, 'nodemaint-parked')), ['web.yaml']);
    });
  });

  it('a damaged record is set aside and the agent watches', async () => {
    await inSandbox(async (sandbox) => {
      const state = path.join(sandbox.root, 'state');
      await mkdir(state, { recursive: true });
      await writeFile(path.join(state, 'record.json'), '{"version":1,"phase":{"kind":"drai');
      const log = await withAgent(sandbox, () => Promise.resolve());
      assert.match(log, /record\.json is damaged and was moved to .*record\.json\.damaged/);
      assert.ok((await readdir(state)).includes('record.json.damaged'));
    });
  });

  it('garbage on the control socket is answered, and the agent goes on', async () => {
    await inSandbox(async (sandbox) => {
      await withAgent(sandbox, async () => {
        for (const line of ['garbage', '{"verb":"format"}', '{"verb":"trigger","reason":""}', 'x'.repeat(100_000)]) {
          const answer = await sayTo(sandbox, `${line}\n`);
          assert.doesNotMatch(answer, /"done"/);
        }
        assert.equal((await readAgentStatus(sandbox.runDirectory)).phase.kind, 'watching');
      });
    });
  });

  it('a request on the control socket that is too long is not acted on, whatever it says', async () => {
    await inSandbox(async (sandbox) => {
      await withAgent(sandbox, async () => {
        const line = `{"verb":"trigger","reason":"too long"}${' '.repeat(5000)}`;
        assert.equal(await sayTo(sandbox, `${line}\n`), '');
        assert.equal((await readAgentStatus(sandbox.runDirectory)).phase.kind, 'watching');
      });
    });
  });

  it('a client that says no more after its request is answered, and silent ones keep nobody out', async () => {
    await inSandbox(async (sandbox) => {
      await withAgent(sandbox, async () => {
        const silent = Array.from({ length: 50 }, () => sayTo(sandbox, '{"verb":"sta'));
        assert.match(await sayTo(sandbox, '{"verb":"status"}\n', 'and ends'), /"summary"/);
        assert.deepEqual(new Set(await Promise.all(silent)), new Set(['']));
        assert.equal(await sayTo(sandbox, '{"verb":"sta', 'and ends'), '');
      });
    });
  });

  it('a user outside the control group is refused with a message, and one of it is answered', async () => {
    await inSandbox(async (sandbox) => {
      await sandbox.writeConfig({ controlGroup: 'daemon' });
      await chmod(sandbox.root, 0o755);
      const flags = ['--run-directory', sandbox.runDirectory];
      await withAgent(sandbox, async () => {
        for (const verb of [['status'], ['trigger', '--reason', 'no rights']]) {
          const { code, stderr } = await runNodemaint([...verb, ...flags], { uid: NOBODY, gid: NOBODY });
          assert.equal(code, 1);
          assert.match(stderr, /no agent answers at .*control\.sock \(connect EACCES.*are you root\?/);
        }
        const { code, stdout, stderr } = await runNodemaint(['status', ...flags], { uid: NOBODY, gid: DAEMON });
        assert.equal(code, 0, stderr);
        assert.match(stdout, /waiting for a shutdown/);
      });
    });
  });

  it('a command line that makes no sense is answered with the usage and exit code 2', async () => {
    for (const args of [['nonsense'], ['status', '-o', 'xml'], ['trigger'], ['trigger', '--reason', ' ']]) {
      const { code, stderr } = await runNodemaint(args);
      assert.equal(code, 2, args.join(' '));
      assert.match(stderr, /error: /);
    }
  });

  it('a controller that is no pod and has no kubeconfig says what it needs', async () => {
    const { code, stderr } = await runNodemaint(['controller']);
    assert.equal(code, 1);
    assert.match(stderr, /no pod with a service account; name a kubeconfig with --kubeconfig/);
  });

  it('a status without an agent says so', async () => {
    await inSandbox(async ({ runDirectory }) => {
      const { code, stderr } = await runNodemaint(['status', '--run-directory', runDirectory]);
      assert.equal(code, 1);
      assert.match(stderr, /no agent answers at .*control\.sock/);
    });
  });

  it('a run directory that cannot be made is named', async () => {
    await inSandbox(async (sandbox) => {
      await writeFile(path.join(sandbox.root, 'run'), 'a file');
      const { stderr } = await refusal(sandbox);
      assert.match(stderr, /cannot open the control socket .*runDirectory/);
    });
  });
});
