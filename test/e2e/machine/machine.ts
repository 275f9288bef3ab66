import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { freePort } from '../../control-plane/port.ts';
import { type Program, startProgram, waitUntil } from '../../control-plane/process.ts';
import type { MachineImage } from './image.ts';

const run = promisify(execFile);

/** A TCP port of the host that the machine reaches under an address of its own network. */
export interface Forward {
  readonly guest: string;
  readonly hostPort: number;
}

/** What a command printed on the machine. */
export interface Answer {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** A real machine with systemd as PID 1, in QEMU; its network is the forwards and nothing else. */
export interface Machine extends AsyncDisposable {
  /** Runs a command as root; every call has a time-out. */
  ssh(command: string, options?: { readonly input?: Buffer | string; readonly timeoutMs?: number }): Promise<Answer>;
  /** Like `ssh`, but a command that fails is an error with what it printed. */
  must(command: string, options?: { readonly input?: Buffer | string; readonly timeoutMs?: number }): Promise<string>;
  /** Copies files and folders with their modes, by their path on the machine. */
  copy(files: Readonly<Record<string, string>>): Promise<void>;
  bootId(): Promise<string>;
  /** Waits until the machine answers with another boot id. */
  waitForReboot(before: string, timeoutMs: number): Promise<void>;
  /** Everything the machine wrote to its serial console, kernel messages to the very end. */
  serial(): Promise<string>;
}

const SSH_OPTIONS = [
  'StrictHostKeyChecking=no',
  'UserKnownHostsFile=/dev/null',
  'LogLevel=ERROR',
  'ConnectTimeout=5',
  'BatchMode=yes',
];
const BOOT_MS = 180_000;
const ACCELERATORS = {
  tcg: ['-accel', 'tcg,thread=multi', '-cpu', 'Nehalem'],
  kvm: ['-accel', 'kvm', '-cpu', 'host'],
} as const;

/** TCG unless told: on virtual hosts KVM is not always there, and not always faster. */
function accelerator(): readonly string[] {
  return process.env['NODEMAINT_E2E_ACCEL'] === 'kvm' ? ACCELERATORS.kvm : ACCELERATORS.tcg;
}

function qemuArguments(
  image: MachineImage,
  disk: string,
  serial: string,
  sshPort: number,
  forwards: readonly Forward[],
): string[] {
  const guests = forwards.map(({ guest, hostPort }) => `,guestfwd=tcp:${guest}-cmd:nc 127.0.0.1 ${hostPort}`);
  const kernel = 'root=/dev/vda rw console=ttyS0 net.ifnames=0 systemd.show_status=0 printk.devkmsg=on';
  const network = `user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:${sshPort}-:22${guests.join('')}`;
  const hardware = ['-M', 'q35', ...accelerator(), '-smp', '2', '-m', '2048', '-nographic', '-nodefaults'];
  const boot = ['-kernel', image.kernel, '-initrd', image.initrd, '-append', kernel];
  const drive = ['-drive', `file=${disk},if=virtio,format=qcow2,cache=unsafe`];
  const net = ['-netdev', network, '-device', 'virtio-net-pci,netdev=net', '-device', 'virtio-rng-pci'];
  const console = ['-chardev', `file,id=serial,path=${serial}`, '-serial', 'chardev:serial', '-monitor', 'none'];
  return [...hardware, ...boot, ...drive, ...net, ...console];
}

/** Boots a machine on a fresh layer over the image and waits until it lets us in. */
export async function bootMachine(
  image: MachineImage,
  forwards: readonly Forward[],
  signal: AbortSignal,
): Promise<Machine> {
  const folder = await mkdtemp('/var/tmp/nodemaint-machine-');
  const disk = path.join(folder, 'disk.qcow2');
  const serial = path.join(folder, 'serial.log');
  await run('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', image.disk, '-F', 'raw', disk]);
  const sshPort = await freePort();
  const args = qemuArguments(image, disk, serial, sshPort, forwards);
  const qemu: Program = startProgram(['qemu-system-x86_64', ...args], path.join(folder, 'qemu.log'));
  const login = [
    ...SSH_OPTIONS.flatMap((option) => ['-o', option]),
    '-i',
    image.sshKey,
    '-p',
    String(sshPort),
    'root@127.0.0.1',
  ];

  const ssh: Machine['ssh'] = async (command, { input, timeoutMs = 60_000 } = {}) =>
    await new Promise((resolve, reject) => {
      const child = spawn('ssh', [...login, command], { timeout: timeoutMs, killSignal: 'SIGKILL', signal });
      let stdout = '';
      let stderr = '';
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
        stdout += chunk;
      });
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
        stderr += chunk;
      });
      child.on('error', reject);
      child.on('close', (code) => {
        resolve({ stdout, stderr, code: code ?? 255 });
      });
      child.stdin.on('error', () => undefined);
      child.stdin.end(input ?? '');
    });
  const must: Machine['must'] = async (command, options) => {
    const { stdout, stderr, code } = await ssh(command, options);
    if (code !== 0) throw new Error(`on the machine, "${command}" ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  };
  const bootId = async (): Promise<string> =>
    (await must('cat /proc/sys/kernel/random/boot_id', { timeoutMs: 10_000 })).trim();
  const answers = async (): Promise<boolean> => (await ssh('true', { timeoutMs: 10_000 })).code === 0;
  const stop = async (): Promise<void> => {
    qemu.kill('SIGKILL');
    await qemu.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await waitUntil('the machine boots', answers, { timeoutMs: BOOT_MS, program: qemu }, signal);
  } catch (error) {
    const said = (await readFile(serial, 'utf8').catch(() => '')).split('\n').slice(-30).join('\n');
    await stop();
    throw new Error(`the machine does not answer; it said last:\n${said}`, { cause: error });
  }

  return {
    ssh,
    must,
    bootId,
    copy: async (files) => {
      for (const [target, source] of Object.entries(files)) {
        const { stdout } = await run('tar', ['-C', path.dirname(source), '-chf', '-', path.basename(source)], {
          encoding: 'buffer',
          maxBuffer: 1024 * 1024 * 1024,
        });
        const place = path.posix.dirname(target);
        const rename = `--transform=s,^${path.basename(source)},${path.posix.basename(target)},`;
        await must(`mkdir -p ${place} && tar -C ${place} ${rename} -xf -`, { input: stdout, timeoutMs: 180_000 });
      }
    },
    waitForReboot: async (before, timeoutMs) => {
      const rebooted = async (): Promise<boolean> => (await bootId()) !== before;
      await waitUntil('the machine reboots', rebooted, { timeoutMs, program: qemu }, signal);
    },
    serial: async () => await readFile(serial, 'utf8'),
    [Symbol.asyncDispose]: stop,
  };
}
