/** The test machine itself: what the other e2e tests take for granted. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { createAuthority } from '../control-plane/certificates.ts';
import { freePort } from '../control-plane/port.ts';
import { machineImage } from './machine/image.ts';
import { bootMachine, type Machine } from './machine/machine.ts';
import { waitFor } from '../support/wait-for.ts';

const PARALLEL = 20;
const BULK = Buffer.alloc(512 * 1024, 'all of it arrives\n');
const SILENCE_MS = 20_000;
const REBOOT_MS = 180_000;

/** Opens connections at once; each says its number, takes the bulk, and goes when it has all of it. */
const CLIENTS = `
cd "$(mktemp -d)"
for i in $(seq ${PARALLEL}); do
  mkfifo "done-$i"
  { echo "$i"; cat "done-$i"; } |
    openssl s_client -quiet -no_ign_eof -verify_return_error -CAfile /root/ca.crt -connect 10.0.2.100:6443 2>"error-$i" |
    { head -c ${BULK.length} | sha256sum; : > "done-$i"; cat > /dev/null; } &
done
wait
cat error-* >&2
`;

describe('the machine of the e2e tests', () => {
  const { signal } = new AbortController();
  let folder: string;
  let caFile: string;
  let server: Server;
  let onHello: (socket: TLSSocket, hello: string) => void;
  let machine: Machine;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-e2e-machine-'));
    const authority = await createAuthority(folder);
    caFile = authority.ca.cert;
    const pair = await authority.server('server', ['IP:10.0.2.100']);
    server = createServer({ cert: await readFile(pair.cert), key: await readFile(pair.key) }, (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (data) => {
        onHello(socket, data.toString());
      });
    });
  });

  after(async () => {
    await machine?.[Symbol.asyncDispose]();
    server?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function openConnections(): Promise<number> {
    return await new Promise((resolve, reject) => {
      server.getConnections((error, count) => {
        if (error === null) resolve(count);
        else reject(error);
      });
    });
  }

  async function reboot(how: () => Promise<void>): Promise<string> {
    const before = await machine.bootId();
    await machine.must(['logger', '-t', 'e2e', `the boot ${before}`]);
    await how();
    await machine.waitForReboot(before, REBOOT_MS);
    const journal = await machine.must('journalctl -b -1 --no-pager', { timeoutMs: 120_000 });
    assert.match(journal, new RegExp(`the boot ${before}`, 'u'));
    return journal;
  }

  it('the machine boots with systemd as PID 1, logind on the bus, and containerd', async (t) => {
    const image = await machineImage(signal);
    const port = await freePort();
    await new Promise<void>((resolve) => {
      server.listen(port, '127.0.0.1', resolve);
    });
    const startedAt = performance.now();
    machine = await bootMachine(image, { forwards: [{ guest: '10.0.2.100:6443', hostPort: port }] }, signal);
    t.diagnostic(`let us in after ${Math.round(performance.now() - startedAt)} ms, accelerator ${machine.accelerator}`);
    const { stdout } = await machine.ssh('systemctl is-system-running --wait', { timeoutMs: 120_000 });
    assert.match(stdout, /^(?:running|degraded)$/mu, await machine.must('systemctl --failed --no-pager'));
    assert.equal((await machine.must(['cat', '/proc/1/comm'])).trim(), 'systemd');
    const login1 = ['org.freedesktop.login1', '/org/freedesktop/login1', 'org.freedesktop.login1.Manager'];
    const preparing = await machine.must(['busctl', 'get-property', ...login1, 'PreparingForShutdown']);
    assert.equal(preparing.trim(), 'b false');
    assert.equal((await machine.must(['systemctl', 'is-active', 'containerd'])).trim(), 'active');
    await machine.must(['ctr', 'version']);
  });

  it('the machine gets files and folders with their modes', async () => {
    const script = path.join(import.meta.dirname, '..', '..', 'install.sh');
    const own = path.join(import.meta.dirname, 'machine');
    await machine.copy({ '/opt/a, b/run.me': script, '/opt/sources': own, '/root/ca.crt': caFile });
    assert.equal(await machine.must(['cat', '/opt/a, b/run.me']), await readFile(script, 'utf8'));
    assert.equal((await machine.must(['stat', '-c', '%a %U', '/opt/a, b/run.me'])).trim(), '755 root');
    await machine.must(['test', '-f', '/opt/sources/machine.ts']);
  });

  it('the machine reaches a TLS server of the host over many connections at once, and leaves none behind', async () => {
    const waiting: TLSSocket[] = [];
    onHello = (socket) => {
      waiting.push(socket);
      // Only when all are there does any get its answer.
      if (waiting.length === PARALLEL) for (const each of waiting) each.write(BULK);
    };
    const { stdout, stderr } = await machine.ssh(['bash', '-c', CLIENTS], { timeoutMs: 180_000 });
    const digest = createHash('sha256').update(BULK).digest('hex');
    assert.deepEqual(
      stdout.trim().split('\n'),
      Array.from({ length: PARALLEL }, () => `${digest}  -`),
      stderr,
    );
    const none = async (): Promise<boolean> => (await openConnections()) === 0;
    await waitFor('all connections are closed', none, { signal });
  });

  it('the machine keeps a connection through a long silence', async () => {
    onHello = (socket, hello) => {
      setTimeout(() => {
        socket.end(`still there, ${hello}`);
      }, SILENCE_MS);
    };
    const client = 'openssl s_client -quiet -verify_return_error -CAfile /root/ca.crt -connect 10.0.2.100:6443';
    const said = await machine.must(`${client} 2>/dev/null`, { input: 'watcher\n' });
    assert.equal(said, 'still there, watcher\n');
  });

  it('the machine has no other way out', async () => {
    const { code } = await machine.ssh('timeout 5 bash -c ": > /dev/tcp/10.0.2.2/$0"', { timeoutMs: 30_000 });
    assert.notEqual(code, 0);
  });

  it('the machine reboots in place and keeps the journal of the boot before', async (t) => {
    const startedAt = performance.now();
    const journal = await reboot(async () => {
      await machine.must(['systemctl', 'reboot']);
    });
    t.diagnostic(`rebooted in ${Math.round(performance.now() - startedAt)} ms`);
    assert.match(journal, /System is rebooting/u);
  });

  it('the machine powers off at its power button and is switched on again', async () => {
    const journal = await reboot(async () => {
      await machine.powerButton();
      await machine.waitForExit(REBOOT_MS);
      await machine.boot();
    });
    assert.match(journal, /Power key pressed/u);
    assert.match(journal, /System is powering down|Shutting down/u);
  });

  it('the machine loses in a power cut what was not synced, and nothing else', async () => {
    const journal = await reboot(async () => {
      await machine.must('echo kept > /root/kept && sync -f /root/kept && sleep 2');
      await machine.powerCut();
      await machine.boot();
    });
    assert.doesNotMatch(journal, /System is powering down|System is rebooting/u);
    assert.equal(await machine.must(['cat', '/root/kept']), 'kept\n');
    assert.match(await machine.serial(), /recovery complete/u);
  });
});
