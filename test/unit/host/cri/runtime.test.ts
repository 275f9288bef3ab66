import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import * as grpc from '@grpc/grpc-js';
import { fromJSON, type ServiceDefinition } from '@grpc/proto-loader';
import { NodemaintError } from '../../../../src/errors.ts';
import { createContainerRuntime } from '../../../../src/host/cri/runtime.ts';
import { createConnection } from '../../../../src/host/cri/connection.ts';
import { describeRuntimeV1 } from '../../../../src/host/cri/proto.ts';
import { openRuntime } from '../../../support/runtime-socket.ts';
import { temporaryFolder } from '../../../support/folder.ts';

const { signal } = new AbortController();

function unavailable(pattern: RegExp): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof NodemaintError, String(error));
    assert.equal(error.code, 'RUNTIME_UNAVAILABLE');
    assert.match(error.message, pattern);
    return true;
  };
}

type Answers = Readonly<Record<string, object | ((request: object) => object)>>;

describe('the container runtime client, with a runtime that is not well', () => {
  async function serve(t: TestContext, answers: Answers | undefined): Promise<string> {
    const socketPath = path.join(await temporaryFolder(t, 'cri'), 'cri.sock');
    const server = new grpc.Server();
    if (answers !== undefined) {
      const description = describeRuntimeV1() as Parameters<typeof fromJSON>[0];
      const service = fromJSON(description, { enums: String, defaults: true })[
        'runtime.v1.RuntimeService'
      ] as ServiceDefinition;
      const handlers = Object.keys(answers).map((name): [string, grpc.UntypedHandleCall] => [
        name,
        ({ request }: { readonly request: object }, reply: grpc.sendUnaryData<object>) => {
          const answered = answers[name];
          const answer = typeof answered === 'function' ? answered(request) : answered;
          if (answer instanceof Error) reply(answer);
          else reply(null, answer ?? {});
        },
      ]);
      server.addService(service, Object.fromEntries(handlers));
    }
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(`unix://${socketPath}`, grpc.ServerCredentials.createInsecure(), (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
    t.after(() => server.forceShutdown());
    return socketPath;
  }

  it('the client names the socket and the fix when nothing listens', async (t) => {
    const socketPath = path.join(await temporaryFolder(t, 'cri'), 'missing.sock');
    const pattern = new RegExp(
      `cannot list the containers at .* unix://${socketPath}: nothing listens there; start the runtime, or set the agent's runtime endpoint to the kubelet's$`,
    );
    await assert.rejects(openRuntime(t, socketPath).livePods(signal), unavailable(pattern));
  });

  it('the client refuses what is no unix socket', () => {
    for (const endpoint of ['tcp://localhost:1', 'npipe:////./pipe/x', 'containerd.sock', '']) {
      assert.throws(() => createContainerRuntime(endpoint), { code: 'CONFIG_INVALID' }, endpoint);
    }
  });

  it('the client takes a plain path, as the kubelet does', async (t) => {
    const runtime = createContainerRuntime(await serve(t, { Version: { runtimeName: 'r', runtimeVersion: '2' } }));
    t.after(() => runtime.close());
    assert.partialDeepStrictEqual(await runtime.version(signal), { runtimeName: 'r', runtimeVersion: '2' });
  });

  it('the client names the plugin when the runtime serves no CRI', async (t) => {
    const runtime = openRuntime(t, await serve(t, undefined));
    await assert.rejects(runtime.version(signal), unavailable(/does not serve CRI runtime\.v1; enable its CRI plugin/));
  });

  it('the client does not wait longer than its deadline', async (t) => {
    const socketPath = path.join(await temporaryFolder(t, 'cri'), 'silent.sock');
    const server = createServer((socket) => t.after(() => socket.destroy())).listen(socketPath);
    t.after(() => server.close());
    const connection = createConnection(`unix://${socketPath}`);
    t.after(() => connection.close());
    const call = { method: 'Version', request: {}, timeoutMs: 300, doing: 'ask' } as const;
    await assert.rejects(connection.call(call, signal), unavailable(/cannot ask at .*: no answer within 0\.3 s/));
  });

  it('the client asks for what runs alone: a thousand ended containers are no part of the answer', async (t) => {
    const asked: unknown[] = [];
    const runtime = openRuntime(
      t,
      await serve(t, {
        ListContainers: (request: object) => {
          asked.push(request);
          return {};
        },
        ListPodSandbox: (request: object) => {
          asked.push(request);
          return {};
        },
      }),
    );
    assert.deepEqual(await runtime.livePods(signal), []);
    assert.deepEqual(JSON.stringify(asked).match(/CONTAINER_\w+|SANDBOX_\w+/g), [
      'CONTAINER_RUNNING',
      'CONTAINER_UNKNOWN',
      'SANDBOX_READY',
    ]);
  });

  it('the client lists what runs or may run, and not what was never started in a stopped sandbox', async (t) => {
    const containers = ['CREATED', 'RUNNING', 'EXITED', 'UNKNOWN'].map((state) => ({
      id: `c-${state}`,
      podSandboxId: `s-${state}`,
      state: `CONTAINER_${state}`,
    }));
    const items = containers.map(({ podSandboxId: id }) => ({ id, state: 'SANDBOX_NOTREADY' }));
    const runtime = openRuntime(t, await serve(t, { ListContainers: { containers }, ListPodSandbox: { items } }));
    const pods = await runtime.livePods(signal);
    assert.deepEqual(
      pods.map(({ id, ready, runningContainers }) => [id, ready, runningContainers]),
      [
        ['s-RUNNING', false, 1],
        ['s-UNKNOWN', false, 1],
      ],
    );
  });

  it('the client believes that a sandbox has stopped although a runtime with a full disk calls its container running', async (t) => {
    const containers = [{ id: 'c', podSandboxId: 's', state: 'CONTAINER_RUNNING' }];
    const items = [{ id: 's', state: 'SANDBOX_NOTREADY' }];
    const noSpace = new Error('failed to update container state: no space left on device');
    const lists = { ListContainers: { containers }, ListPodSandbox: { items } };
    const runtime = openRuntime(t, await serve(t, { ...lists, StopContainer: noSpace, StopPodSandbox: {} }));
    assert.equal((await runtime.livePods(signal)).length, 1);
    await runtime.stopPodByForce('s', 1, signal);
    assert.deepEqual(await runtime.livePods(signal), []);
    const ready = [{ id: 's', state: 'SANDBOX_READY' }];
    const other = openRuntime(t, await serve(t, { ...lists, ListPodSandbox: { items: ready }, StopPodSandbox: {} }));
    await other.stopPodByForce('s', 1, signal);
    assert.equal((await other.livePods(signal)).length, 1, 'not one that is ready again');
  });

  it('the client stops no sandbox whose container could not be stopped and runs, unless by force', async (t) => {
    const containers = [{ id: 'c', podSandboxId: 's', state: 'CONTAINER_RUNNING' }];
    const refused = new Error('refused');
    const answers = { ListContainers: { containers }, StopContainer: refused };
    const runtime = openRuntime(t, await serve(t, { ...answers, StopPodSandbox: new Error('would kill it') }));
    await assert.rejects(runtime.stopPod('s', 1, signal), unavailable(/cannot stop the container c at .*refused/));
    await assert.rejects(runtime.stopPodByForce('s', 1, signal), unavailable(/the pod sandbox s at .*would kill it/));
    await openRuntime(t, await serve(t, { ...answers, StopPodSandbox: {} })).stopPodByForce('s', 1, signal);
  });

  it('the client stops the sandbox of a container that has ended although its stop failed', async (t) => {
    let listed = 0;
    const answers = {
      get ListContainers() {
        listed += 1;
        return { containers: listed > 2 ? [] : [{ id: 'c', podSandboxId: 's', state: 'CONTAINER_RUNNING' }] };
      },
      StopContainer: new Error('the connection was lost'),
      StopPodSandbox: {},
    };
    await openRuntime(t, await serve(t, answers)).stopPod('s', 1, signal);
    assert.equal(listed, 4, 'each time what runs, and what may run');
  });
});

it('the container runtime client loads gRPC at the first call, not before', async () => {
  const script = `
    import { createRequire } from 'node:module';
    import { createContainerRuntime } from ${JSON.stringify(path.resolve('src/host/cri/runtime.ts'))};
    const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('@grpc'));
    const runtime = createContainerRuntime('/nonexistent.sock');
    const before = loaded();
    await runtime.version(new AbortController().signal).catch(() => undefined);
    console.log(JSON.stringify([before, loaded()]));
    runtime.close();
  `;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ['--input-type=module-typescript', '-e', script]);
  assert.deepEqual(JSON.parse(stdout), [false, true]);
});
