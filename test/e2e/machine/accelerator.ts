import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import process from 'node:process';

/** How QEMU runs the machine's processors: with the host's, or in software. */
export type Accelerator = 'kvm' | 'tcg';

const ARGUMENTS: Readonly<Record<Accelerator, readonly string[]>> = {
  kvm: ['-accel', 'kvm', '-cpu', 'host'],
  // Not `max` nor anything with AVX: QEMU 7.2 emulates that so that boots fail at random.
  tcg: ['-accel', 'tcg,thread=multi', '-cpu', 'Nehalem'],
};

// Software takes two seconds for what the probe does, and KVM that deserves its name a fraction of one.
const PROBE_MS = 2_000;

/** The arguments that make QEMU use it. */
export function acceleratorArguments(accelerator: Accelerator): readonly string[] {
  return ARGUMENTS[accelerator];
}

function hasDevice(): boolean {
  try {
    accessSync('/dev/kvm', constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Resolves to whether, under KVM, the kernel gets in time to where it finds no root file system and gives up. */
async function probeKvm(kernel: string, signal: AbortSignal): Promise<boolean> {
  const hardware = ['-M', 'q35', ...ARGUMENTS.kvm, '-m', '512', '-display', 'none', '-nodefaults', '-no-reboot'];
  const args = [...hardware, '-kernel', kernel, '-append', 'root=/dev/none panic=-1'];
  const options = { stdio: 'ignore', timeout: PROBE_MS, killSignal: 'SIGKILL', signal } as const;
  return await new Promise((resolve, reject) => {
    const child = spawn('qemu-system-x86_64', args, options);
    child.on('error', reject);
    child.on('close', (code) => resolve(code === 0));
  });
}

/**
 * Software unless KVM proves itself: on many virtual hosts there is a /dev/kvm that refuses the processor's model or is
 * far slower than software. NODEMAINT_E2E_ACCEL=kvm or tcg overrules the probe.
 */
export async function chooseAccelerator(kernel: string, signal: AbortSignal): Promise<Accelerator> {
  const told = process.env['NODEMAINT_E2E_ACCEL'];
  if (told === 'kvm' || told === 'tcg') return told;
  if (told !== undefined) throw new Error(`NODEMAINT_E2E_ACCEL is "${told}"; it can be kvm or tcg`);
  return hasDevice() && (await probeKvm(kernel, signal)) ? 'kvm' : 'tcg';
}
