import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../../control-plane/port.ts';
import { type Program, startProgram } from '../../control-plane/process.ts';
import { type Accelerator, acceleratorArguments, chooseAccelerator } from './accelerator.ts';
import type { MachineImage } from './image.ts';
import { type QmpCommand, sendQmp } from './qmp.ts';
import { createShell, type Shell } from './shell.ts';
import { assertDeclared } from '../../needs/declared.ts';
import { waitFor } from '../../support/wait-for.ts';

const run = promisify(execFile);

/** What a machine has beside its disk. */
export interface Equipment {
  /** TCP ports of the machine that the host reaches on loopback: the machine's by the host's. */
  readonly ports?: ReadonlyMap<number, number>;
  /** Enough for a kubelet, a container runtime and a few pods unless told. */
  readonly memoryMib?: number;
}

/** A real machine with systemd as PID 1, in QEMU; its network is the ports that the host reaches and nothing else. */
export interface Machine extends AsyncDisposable, Shell {
  bootId(): Promise<string>;
  /** Waits until the machine lets us in; ten minutes unless told. */
  waitForSsh(timeoutMs?: number): Promise<void>;
  /** Waits until the machine answers with another boot id; one that powers off instead is an error. */
  waitForReboot(before: string, timeoutMs: number): Promise<void>;
  /** Waits until the machine is off. */
  waitForExit(timeoutMs: number): Promise<void>;
  /** Presses the power button, which logind answers. */
  powerButton(): Promise<void>;
  /** Presses Ctrl, Alt and Del on the machine's keyboard at the same time. */
  ctrlAltDel(): Promise<void>;
  /** Cuts the power: what the machine has not flushed to its disk is lost. */
  powerCut(): Promise<void>;
  /** Switches a machine that is off on again, with the disk it left, and waits until it lets us in. */
  boot(): Promise<void>;
  /** Everything the machine wrote to its serial console since it was made, kernel messages to the very end. */
  serial(): Promise<string>;
}

const BOOT_MS = 600_000;
const CUT_MS = 10_000;
const ASK_EVERY_MS = 2_000;
/** A connection costs the machine, in software, a second of its processors: while it goes down it is asked seldom. */
const ASK_SELDOM_MS = 30_000;
/** What the kernel says first. */
const KERNEL_BEGINS = /Linux version /g;

interface Parts {
  readonly image: MachineImage;
  readonly accelerator: Accelerator;
  readonly folder: string;
  readonly sshPort: number;
  readonly ports: ReadonlyMap<number, number>;
  readonly memoryMib: number;
}

const MEMORY_MIB = 2048;

function diskOf(folder: string): string {
  return path.join(folder, 'disk.qcow2');
}

function serialOf(folder: string): string {
  return path.join(folder, 'serial.log');
}

function monitorOf(folder: string): string {
  return path.join(folder, 'qmp.sock');
}

function qemuArguments({ image, accelerator, folder, ports, memoryMib }: Parts): string[] {
  const kernel = 'root=/dev/vda rw console=ttyS0 net.ifnames=0 systemd.show_status=0 printk.devkmsg=on';
  const hosts = [...ports].map(([host, machine]) => `,hostfwd=tcp:127.0.0.1:${host}-:${machine}`);
  const network = `user,id=net,restrict=on${hosts.join('')}`;
  const hardware = ['-M', 'q35', ...acceleratorArguments(accelerator), '-smp', '2', '-m', String(memoryMib)];
  const boot = ['-kernel', image.kernel, '-initrd', image.initrd, '-append', kernel];
  // Unsafe for a host that fails, not for a QEMU that is killed: a flush still reaches the host's page cache.
  const drive = ['-drive', `file=${diskOf(folder)},if=virtio,format=qcow2,cache=unsafe`];
  const net = ['-netdev', network, '-device', 'virtio-net-pci,netdev=net,id=nic', '-device', 'virtio-rng-pci'];
  const serial = ['-chardev', `file,id=serial,path=${serialOf(folder)},append=on`, '-serial', 'chardev:serial'];
  const control = ['-qmp', `unix:${monitorOf(folder)},server=on,wait=off`, '-monitor', 'none'];
  return [...hardware, '-nographic', '-nodefaults', ...boot, ...drive, ...net, ...serial, ...control];
}

async function readSerial(folder: string): Promise<string> {
  return await readFile(serialOf(folder), 'utf8').catch(() => '');
}

async function prepare(
  image: MachineImage,
  { ports = new Map(), memoryMib = MEMORY_MIB }: Equipment,
  signal: AbortSignal,
): Promise<Parts> {
  const accelerator = await chooseAccelerator(image.kernel, signal);
  const folder = await mkdtemp('/var/tmp/nodemaint-machine-');
  const base = ['-b', image.disk, '-F', 'raw'];
  await run('qemu-img', ['create', '-q', '-f', 'qcow2', ...base, diskOf(folder)], { signal });
  const sshPort = await freePort();
  const allPorts = new Map([...ports, [sshPort, 22]]);
  return { image, accelerator, folder, sshPort, ports: allPorts, memoryMib };
}

/** Boots a machine on a fresh layer over the image, and waits until it lets us in; it ends with this process. */
export async function bootMachine(image: MachineImage, equipment: Equipment, signal: AbortSignal): Promise<Machine> {
  assertDeclared('machine');
  const parts = await prepare(image, equipment, signal);
  const { folder, sshPort } = parts;
  const shell = createShell({ keyFile: image.sshKey, port: sshPort }, signal);
  const switchOn = (): Program =>
    startProgram(['qemu-system-x86_64', ...qemuArguments(parts)], path.join(folder, 'qemu.log'));
  let qemu = switchOn();

  const wait = async (what: string, ask: () => Promise<boolean>, timeoutMs: number): Promise<void> => {
    await waitFor(what, ask, { timeoutMs, program: qemu, signal }).catch(async (error: unknown) => {
      const said = (await readSerial(folder)).split('\n').slice(-30).join('\n');
      throw new Error(`not seen that ${what}; the machine said last:\n${said}`, { cause: error });
    });
  };
  const answers = async (): Promise<boolean> => (await shell.ssh('true', { timeoutMs: 10_000 })).code === 0;
  const bootsSoFar = async (): Promise<number> => (await readSerial(folder)).match(KERNEL_BEGINS)?.length ?? 0;
  /** How often the machine had booted when it last let us in. */
  let knownBoots = 0;
  const waitForSsh = async (timeoutMs = BOOT_MS): Promise<void> => {
    await wait('the machine lets us in', answers, timeoutMs);
    knownBoots = await bootsSoFar();
  };
  const bootId = async (): Promise<string> =>
    (await shell.must('cat /proc/sys/kernel/random/boot_id', { timeoutMs: 10_000 })).trim();
  const isOff = (): Promise<boolean> => Promise.resolve(qemu.exited());
  const tell = (command: QmpCommand): Promise<void> => sendQmp(monitorOf(folder), command, signal);
  const powerCut = async (): Promise<void> => {
    qemu.kill('SIGKILL');
    await waitFor('QEMU is gone', isOff, { timeoutMs: CUT_MS, signal });
  };
  const dispose = async (): Promise<void> => {
    qemu.kill('SIGKILL');
    await qemu.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await waitForSsh();
  } catch (error) {
    await dispose();
    throw error;
  }

  return {
    ...shell,
    bootId,
    waitForSsh,
    waitForReboot: async (before, timeoutMs) => {
      let askedAt = -Infinity;
      const asked = async (): Promise<boolean> => {
        await setTimeout(ASK_EVERY_MS, undefined, { signal });
        if ((await bootsSoFar()) === knownBoots && performance.now() - askedAt < ASK_SELDOM_MS) return false;
        askedAt = performance.now();
        return (await bootId()) !== before;
      };
      await wait('the machine reboots', asked, timeoutMs);
      knownBoots = await bootsSoFar();
    },
    waitForExit: async (timeoutMs) => await wait('the machine is off', isOff, timeoutMs),
    powerButton: () => tell({ execute: 'system_powerdown' }),
    ctrlAltDel: () =>
      tell({
        execute: 'send-key',
        arguments: { keys: ['ctrl', 'alt', 'delete'].map((data) => ({ type: 'qcode', data })) },
      }),
    powerCut,
    boot: async () => {
      if (!qemu.exited()) throw new Error('the machine is on already');
      qemu = switchOn();
      await waitForSsh();
    },
    serial: () => readSerial(folder),
    [Symbol.asyncDispose]: dispose,
  };
}
