import process from 'node:process';
import { runAgent } from '../agent/start.ts';
import { loadAgentConfig } from '../config/load.ts';
import { createSystemClock } from '../host/clock.ts';
import { createLog } from '../telemetry/log.ts';
import { createOwnProgram } from './machine/own-program.ts';
import { EXIT, failedExitCode } from './terminal/exit-code.ts';
import type { Terminal } from './terminal/terminal.ts';

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
  const log = createLog(config.logLevel, 'nodemaint-agent', config.logFormat);
  const own = createOwnProgram([process.execPath, process.argv[1] ?? '']);
  const readDoctor = (until: AbortSignal): ReturnType<typeof own.doctor> => own.doctor(configPath, until);
  const dependencies = { clock: createSystemClock(), log, readMachineFacts: own.machineFacts, readDoctor };
  await runAgent(config, dependencies, stop, signal);
}
