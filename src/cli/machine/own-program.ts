/** What the agent has this program do in a process of its own, whose memory is given back at once. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as z from 'zod';
import type { DoctorReport } from '../../decide/presence/presence.ts';
import type { MachineFacts } from '../../decide/notice/provider.ts';

const MAX_BYTES = 1024 * 1024;
const FACTS_MS = 30_000;
const DOCTOR_MS = 60_000;

const fact = z.string().max(1000);
const machineFactsSchema = z.object({ manufacturer: fact, model: fact, serial: fact, uuid: fact, assetTag: fact });
const checksSchema = z.object({
  items: z.array(z.object({ name: z.string().max(100), result: z.enum(['ok', 'warn', 'fail']) })).min(1),
});

/** What this program can be asked. Both reject where it cannot be run, takes too long, or prints something else. */
interface OwnProgram {
  /** The facts of this machine: the library that reads them would take 8 MiB of the agent's memory for good. */
  readonly machineFacts: (signal: AbortSignal) => Promise<MachineFacts>;
  /** The worst result of `nodemaint doctor`, and which checks have it. */
  readonly doctor: (configPath: string, signal: AbortSignal) => Promise<DoctorReport>;
}

/** `command` starts this program; the words of a command follow it. */
export function createOwnProgram([file, ...first]: readonly [string, ...string[]]): OwnProgram {
  const run = async (words: readonly string[], timeout: number, signal: AbortSignal): Promise<unknown> => {
    const options = { timeout, maxBuffer: MAX_BYTES, signal };
    const printed = await promisify(execFile)(file, [...first, ...words], options).catch((error: unknown) => {
      // With a check that fails, doctor prints its checks too, and its exit code is 1.
      if (error instanceof Error && 'code' in error && error.code === 1 && 'stdout' in error && error.stdout !== '') {
        return { stdout: String(error.stdout) };
      }
      throw error;
    });
    return JSON.parse(printed.stdout);
  };
  return {
    machineFacts: async (signal) => machineFactsSchema.parse(await run(['machine-facts'], FACTS_MS, signal)),
    doctor: async (configPath, signal) => {
      const words = ['doctor', '--config', configPath, '--output', 'json'];
      const { items } = checksSchema.parse(await run(words, DOCTOR_MS, signal));
      const doctor = (['fail', 'warn'] as const).find((worst) => items.some(({ result }) => result === worst)) ?? 'ok';
      const checks = items.filter(({ result }) => result === doctor && doctor !== 'ok').map(({ name }) => name);
      return { doctor, checks };
    },
  };
}
