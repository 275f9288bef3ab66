import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import * as z from 'zod';
import { runAgent } from '../agent/start.ts';
import { loadAgentConfig } from '../config/load.ts';
import type { DoctorResult } from '../decide/fleet/presence.ts';
import type { MachineFacts } from '../decide/notice/provider.ts';
import { createSystemClock } from '../host/clock.ts';
import { createLog } from '../telemetry/log.ts';
import { EXIT } from './terminal/exit-code.ts';
import { failedExitCode } from './terminal/outcome.ts';
import type { Terminal } from './terminal/terminal.ts';

const fact = z.string().max(1000);
const machineFactsSchema = z.object({ manufacturer: fact, model: fact, serial: fact, uuid: fact, assetTag: fact });
const FACTS_MS = 30_000;

/** Reads the facts in a separate process: its library would take 8 MiB of the agent's memory for good. */
async function readMachineFacts(signal: AbortSignal): Promise<MachineFacts> {
  const program = [process.argv[1] ?? '', 'machine-facts'];
  const { stdout } = await promisify(execFile)(process.execPath, program, { timeout: FACTS_MS, signal });
  return machineFactsSchema.parse(JSON.parse(stdout));
}

const DOCTOR_MS = 60_000;
const DOCTOR_BYTES = 1024 * 1024;
const checksSchema = z.array(z.object({ result: z.enum(['ok', 'warn', 'fail']) })).min(1);

/** Runs the checks of `nodemaint doctor` in a separate process, whose memory is given back at once. Rejects where they cannot be run. */
async function readDoctor(configPath: string, signal: AbortSignal): Promise<DoctorResult> {
  const program = [process.argv[1] ?? '', 'doctor', '--config', configPath, '--output', 'json'];
  const options = { timeout: DOCTOR_MS, maxBuffer: DOCTOR_BYTES, signal };
  const printed = await promisify(execFile)(process.execPath, program, options).catch((error: unknown) => {
    // With a check that fails it prints them too, and its exit code is 1.
    if (error instanceof Error && 'stdout' in error && error.stdout !== '') return { stdout: String(error.stdout) };
    throw error;
  });
  const results = checksSchema.parse(JSON.parse(printed.stdout)).map(({ result }) => result);
  return results.includes('fail') ? 'fail' : results.includes('warn') ? 'warn' : 'ok';
}

/** Runs the agent as the only command of this process, for a command line that `agentConfigPath` has read. Returns the exit code. */
export async function runAgentProgram(configPath: string, terminal: Terminal): Promise<number> {
  try {
    await agentCommand(configPath, terminal.stop, terminal.signal);
    return EXIT.done;
  } catch (error) {
    return failedExitCode(error, terminal);
  }
}

/** `nodemaint agent`: runs the node daemon until `stop`, and at the latest until `signal`. */
export async function agentCommand(configPath: string, stop: AbortSignal, signal: AbortSignal): Promise<void> {
  const config = await loadAgentConfig(configPath);
  const log = createLog(config.logLevel, 'nodemaint-agent');
  const readChecks = (until: AbortSignal): Promise<DoctorResult> => readDoctor(configPath, until);
  const dependencies = { clock: createSystemClock(), log, readMachineFacts, readDoctor: readChecks };
  await runAgent(config, dependencies, stop, signal);
}
