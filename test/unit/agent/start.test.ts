import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { type AgentSandbox, inSandbox, withAgent } from '../../support/agent/sandbox.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../../support/commands/nodemaint.ts';
import { waitFor } from '../../support/wait-for.ts';

const POD = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: x}]}\n';

/** What the agent says and its exit code when it cannot start. */
async function refusal({ configFile }: AgentSandbox): Promise<{ code: number; stderr: string }> {
  const { code, stderr, stdout } = await runNodemaint(['agent', '--config', configFile]);
  // It may log what it finds of a kubelet that runs on this machine.
  const others = stdout.split('\n').filter((line) => line !== '' && !line.includes('kubelet'));
  assert.deepEqual(others, [], 'nothing but the message');
  assert.doesNotMatch(stderr, /at .*\.ts:\d+/, 'no stack trace');
  return { code, stderr };
}

describe('an agent with bad input', () => {
  it('an unknown key of the configuration is named, with the file', async () => {
    await inSandbox(async (sandbox) => {
      await sandbox.writeConfig({ staticPodPaht: '/x' });
      const { code, stderr } = await refusal(sandbox);
      assert.equal(code, 2);
      assert.match(stderr, /config\.yaml is not a valid configuration of the agent:\n.*"staticPodPaht"/);
    });
  });

  it('a value out of bounds is named by its path', async () => {
    await inSandbox(async (sandbox) => {
      await sandbox.writeConfig({ apiWaitSec: 0, drainPlan: [{ podType: 'Pod', podPriority: 1 }] });
      const { stderr } = await refusal(sandbox);
      assert.match(stderr, /at apiWaitSec$/m);
      assert.match(stderr, /at drainPlan\[0\]\.podType$/m);
    });
  });

  it('a configuration that is no YAML, or not there, is named', async () => {
    await inSandbox(async (sandbox) => {
      await writeFile(sandbox.configFile, 'a: [1\nb: {');
      assert.match((await refusal(sandbox)).stderr, /config\.yaml is not valid YAML/);
      await rm(sandbox.configFile);
      assert.match((await refusal(sandbox)).stderr, /there is no .*config\.yaml: no agent is installed .*--config/);
    });
  });

  it('an agent without its kubeconfig watches the machine all the same, and log and status say why', async () => {
    await inSandbox(async (sandbox) => {
      await sandbox.writeConfig({ kubeconfig: path.join(sandbox.root, 'kubelet.conf') });
      const { runDirectory } = sandbox;
      const log = await withAgent(sandbox, async () => {
        const why = /cannot read the kubeconfig .*kubelet\.conf: ENOENT/;
        const says = async (): Promise<boolean> =>
          why.test((await readAgentStatus(runDirectory)).cluster.problem ?? '');
        await waitFor('the status says why', says);
      });
      assert.match(log, /cannot read the kubeconfig .*kubelet\.conf: ENOENT/);
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
        const inPlace = async (): Promise<readonly string[]> => (await readAgentStatus(sandbox.runDirectory)).inPlace;
        await waitFor('the agent has read the manifests', async () => (await inPlace()).length > 0);
        assert.deepEqual(await inPlace(), ['good.yaml']);
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
        assert.match(stderr, /another agent already runs on this node.*systemctl stop nodemaint/);
        assert.equal((await readAgentStatus(sandbox.runDirectory)).phase.kind, 'watching');
      });
    });
  });

  it('a socket that a killed agent left behind is taken over', async () => {
    await inSandbox(async (sandbox) => {
      const agent = startNodemaint(['agent', '--config', sandbox.configFile], path.join(sandbox.root, 'first.log'));
      const there = async (): Promise<boolean> => (await readdir(sandbox.runDirectory)).includes('control.sock');
      await waitFor('the socket is there', there, { timeoutMs: 20_000, program: agent });
      agent.kill('SIGKILL');
      await agent.stop();
      await withAgent(sandbox, () => Promise.resolve());
    });
  });

  it('a damaged journal is set aside, the agent watches, and nothing is lost', async () => {
    await inSandbox(async (sandbox) => {
      const state = path.join(sandbox.root, 'state');
      await mkdir(state, { recursive: true });
      await mkdir(path.join(sandbox.root, 'nodemaint-parked'));
      await writeFile(path.join(sandbox.root, 'nodemaint-parked', 'web.yaml'), POD);
      const damaged = '0123456789abcdef {"op":"park"}\n{}\n';
      await writeFile(path.join(state, 'journal'), damaged);
      const log = await withAgent(sandbox, () => Promise.resolve());
      assert.match(log, /line 1, and 1 more, of the journal .*is damaged; it was moved to .*journal\.damaged/);
      assert.equal(await readFile(path.join(state, 'journal.damaged'), 'utf8'), damaged);
      // It is given back where the control groups of this machine show that no pod runs.
      const places = [path.join(sandbox.root, 'nodemaint-parked'), sandbox.staticPodPath];
      assert.deepEqual((await Promise.all(places.map((place) => readdir(place)))).flat(), ['web.yaml']);
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

  it('a run directory that cannot be made is named', async () => {
    await inSandbox(async (sandbox) => {
      await writeFile(path.join(sandbox.root, 'run'), 'a file');
      const { stderr } = await refusal(sandbox);
      assert.match(stderr, /cannot open the control socket .*runDirectory/);
    });
  });
});
