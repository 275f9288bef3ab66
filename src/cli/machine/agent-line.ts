/** The command line of the agent's unit, which is read without the library of the other commands. */

/** Where the configuration file of the agent is, unless --config names another. */
export const AGENT_CONFIG_PATH = '/etc/nodemaint/config.yaml';

/** The configuration file that `nodemaint agent [--config FILE]` names; undefined for every other command line. */
export function agentConfigPath(argv: readonly string[]): string | undefined {
  const [command, flag, file, ...rest] = argv;
  if (command !== 'agent' || rest.length > 0) return undefined;
  if (flag === undefined) return AGENT_CONFIG_PATH;
  // What looks like a flag, and everything else, is for the library to judge.
  return flag === '--config' && file !== undefined && !file.startsWith('-') ? file : undefined;
}
