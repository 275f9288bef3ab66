import { type CommandEnd, type CommandRun, runCommand, startCommand } from './command.ts';

/** Starts `nodemaint evict ARGS` in an environment without a kubeconfig of its own. */
export function startEvict(args: readonly string[], env: NodeJS.ProcessEnv = {}): CommandRun {
  return startCommand(['evict', ...args], env);
}

/** Runs `nodemaint evict ARGS` to its end. */
export async function runEvict(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<CommandEnd> {
  return await runCommand(['evict', ...args], env);
}
