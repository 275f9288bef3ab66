import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Program } from '../../control-plane/process.ts';
import { runNodemaint, startNodemaint, withoutDeployments } from '../../support/commands/nodemaint.ts';
import { drainOf } from '../../support/maintenance/objects.ts';
import { buildEvictionRig, type EvictionRig, NODE, type Running } from '../../support/rigs/eviction.ts';
import { SLOW, waitFor } from '../../support/wait-for.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const ACCOUNT = 'system:serviceaccount:nodemaint-system:nodemaint-notify';
const GROUPS = ['system:serviceaccounts', 'system:serviceaccounts:nodemaint-system', 'system:authenticated'];

/** A receiver of messages: what it has taken, and what it answers. */
interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** `KIND OUTCOME` of each message about the maintenance that was taken, in order. */
  about(maintenance: string): readonly string[];
  /** The texts of all messages that were taken. */
  texts(): readonly string[];
  /** Answers the next messages with an error, so many times. */
  refuse(times: number): void;
  /** The next message is not answered before the function that this returns is called. */
  holdNext(): { readonly held: () => boolean; readonly answer: () => void };
}

async function startReceiver(): Promise<Receiver> {
  const taken: { maintenance: string; kind: string; outcome: string; text: string }[] = [];
  let refusals = 0;
  let hold: ((response: ServerResponse) => void) | undefined;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      if (refusals > 0) {
        refusals -= 1;
        response.writeHead(503).end();
        return;
      }
      taken.push(JSON.parse(body) as (typeof taken)[number]);
      const next = hold;
      hold = undefined;
      if (next === undefined) response.writeHead(200).end();
      else next(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    about: (name) => taken.flatMap((each) => (each.maintenance === name ? [`${each.kind} ${each.outcome}`] : [])),
    texts: () => taken.map(({ text }) => text),
    refuse: (times) => {
      refusals = times;
    },
    holdNext: () => {
      let response: ServerResponse | undefined;
      hold = (each) => {
        response = each;
      };
      return { held: () => response !== undefined, answer: () => response?.writeHead(200).end() };
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

describe('messages to people, under the account of the add-on', () => {
  let rig: EvictionRig;
  let kubeconfig: string;
  let receiver: Receiver;
  let secret: string;
  const stack = new AsyncDisposableStack();
  const kubectl = (...args: readonly string[]): Promise<string> => rig.controlPlane.kubectl(args);
  const apply = async (object: object): Promise<string> =>
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));

  before(async () => {
    rig = stack.use(await buildEvictionRig());
    receiver = stack.use(await startReceiver());
    const manifests = withoutDeployments(await kubectl('kustomize', path.join(ROOT, 'manifests', 'notify')));
    // Applied twice, as by an upgrade.
    for (let count = 0; count < 2; count += 1) await rig.controlPlane.kubectl(['apply', '-f', '-'], manifests);
    kubeconfig = await rig.controlPlane.kubeconfigFor(ACCOUNT, GROUPS);
    secret = path.join(rig.folder, 'secret');
    await mkdir(secret);
    await writeFile(path.join(secret, 'url'), receiver.url);
    const controller: Running = await rig.startController();
    stack.defer(() => controller.stop());
  });
  after(async () => {
    await stack.disposeAsync();
  });

  const logOf = (name: string): string => path.join(rig.folder, `notify-${name}.log`);
  const start = (name: string): Program =>
    startNodemaint(
      ['notify', '--kubeconfig', kubeconfig, '--secret', secret, '--blocked-after', '1s', '--cluster-name', 'prod'],
      logOf(name),
    );
  const isLeading = async (name: string): Promise<boolean> => (await readFile(logOf(name), 'utf8')).includes('leading');
  /** What is written down of the maintenance, for the next leader. */
  const recorded = async (maintenance: string): Promise<readonly string[]> => {
    const { data = {} } = JSON.parse(
      await kubectl('get', 'configmap', 'nodemaint-notify', '-n', 'nodemaint-system', '-o', 'json'),
    ) as { data?: Record<string, string> };
    const entries = Object.values(data).map((text) => JSON.parse(text) as { maintenance: string; kinds: string[] });
    return entries.find((each) => each.maintenance === maintenance)?.kinds ?? [];
  };
  /** A static pod of a node without an agent: nobody ends it but the test. */
  const makeStaticPod = async (name: string): Promise<void> => {
    await rig.createPod(name, { 'kubernetes.io/config.mirror': name, 'kubernetes.io/config.hash': name });
  };
  const untilTold = async (name: string, expected: readonly string[], program: Program): Promise<void> => {
    const isSo = (): boolean => receiver.about(name).length >= expected.length;
    await waitFor(`the messages of ${name}`, isSo, { ...SLOW, program }).catch((error: unknown) => {
      throw new Error(JSON.stringify(receiver.about(name)), { cause: error });
    });
    assert.deepEqual(receiver.about(name), expected);
  };

  it('a drain is told of three times, and not again when the leader is killed and another one takes over', async () => {
    await makeStaticPod('static');
    await using first = start('first');
    await waitFor('it leads', () => isLeading('first'), { ...SLOW, program: first });
    await using second = start('second');
    receiver.refuse(2);
    await apply(drainOf('one', [NODE], { reason: 'kernel' }));
    await untilTold('one', ['begun draining', 'blocked draining'], first);
    await waitFor('it is written down', async () => (await recorded('one')).join() === 'begun,blocked');
    first.kill('SIGKILL');
    await waitFor('it is dead', () => first.exited());
    await waitFor('the other one leads', () => isLeading('second'), { ...SLOW, program: second });
    await rig.endPod('static');
    await untilTold('one', ['begun draining', 'blocked draining', 'done drained'], second);
    const [begun, blocked, done] = receiver.texts();
    assert.equal(begun, `prod: The drain of node ${NODE} has begun (maintenance one, kernel).`);
    assert.match(blocked ?? '', /is blocked \(maintenance one, kernel\): default\/static \(NoAgent: .*\)\.$/);
    assert.match(done ?? '', /is drained: all pods have left/);
  });

  it('a leader that is told to end finishes the message under way, and the next one does not send it again', async () => {
    await kubectl('delete', 'nodemaintenance', 'one');
    await makeStaticPod('held');
    await using third = start('third');
    await waitFor('it leads', () => isLeading('third'), { ...SLOW, program: third });
    const { held, answer } = receiver.holdNext();
    await apply(drainOf('two', [NODE]));
    await waitFor('the receiver has the message', held, { ...SLOW, program: third });
    await using fourth = start('fourth');
    third.kill('SIGTERM');
    answer();
    await waitFor('it has ended', () => third.exited(), SLOW);
    assert.ok((await recorded('two')).includes('begun'));
    await waitFor('the next one leads', () => isLeading('fourth'), { ...SLOW, program: fourth });
    await untilTold('two', ['begun draining', 'blocked draining'], fourth);
    await kubectl('delete', 'nodemaintenance', 'two');
    await untilTold('two', ['begun draining', 'blocked draining', 'done ended'], fourth);
    await waitFor('nothing of it is remembered', async () => (await recorded('two')).length === 0);
    await rig.endPod('held');
    assert.equal(receiver.about('one').length, 3);
  });

  it('a shutdown that its node has forced is told of as forced', async () => {
    await makeStaticPod('left');
    await using program = start('fifth');
    const metadata = { name: 'three', labels: { 'nodemaintenance.x-k8s.io/agent': NODE } };
    await apply({ ...drainOf('three', [NODE]), metadata });
    await untilTold('three', ['begun draining', 'blocked draining'], program);
    const last = { result: 'forced', at: new Date(Date.now() + 1000).toISOString() };
    await kubectl('annotate', 'node', NODE, `nodemaintenance.x-k8s.io/agent-status=${JSON.stringify({ last })}`);
    await untilTold('three', ['begun draining', 'blocked draining', 'forced forced'], program);
    await kubectl('delete', 'nodemaintenance', 'three');
    await waitFor('nothing of it is remembered', async () => (await recorded('three')).length === 0);
    await rig.endPod('left');
    assert.equal(receiver.about('three').length, 3);
  });

  it('the account may read no Secret and change no maintenance, and without an address the program ends with a sentence', async () => {
    const can = async (...args: readonly string[]): Promise<string> => {
      const as = ['--as', ACCOUNT, ...GROUPS.flatMap((group) => ['--as-group', group])];
      return (await kubectl('auth', 'can-i', ...args, ...as).catch(String)).trim();
    };
    assert.equal(await can('get', 'configmaps/nodemaint-notify', '-n', 'nodemaint-system'), 'yes');
    for (const asked of [
      ['get', 'secrets', '-n', 'nodemaint-system'],
      ['patch', 'nodemaintenances.nodemaintenance.x-k8s.io'],
      ['patch', 'nodes'],
      ['patch', 'configmaps/other', '-n', 'nodemaint-system'],
      ['update', 'leases/nodemaint-controller', '-n', 'nodemaint-system'],
    ]) {
      assert.match(await can(...asked), /no/, asked.join(' '));
    }
    const none = await runNodemaint(['notify', '--kubeconfig', kubeconfig, '--secret', rig.folder]);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /url has no address; write the https address of the receiver into it/);
  });
});
