import { runAgent } from '../agent/start.ts';
import { loadAgentConfig } from '../config/load.ts';
import { createSystemClock } from '../host/clock.ts';
import { createLog } from '../telemetry/log.ts';

/** `nodemaint agent`: runs the node daemon until `stop`, and at the latest until `signal`. */
export async function agentCommand(configPath: string, stop: AbortSignal, signal: AbortSignal): Promise<void> {
  const config = await loadAgentConfig(configPath);
  const log = createLog(config.logLevel, 'nodemaint-agent');
  await runAgent(config, { clock: createSystemClock(), log }, stop, signal);
}
