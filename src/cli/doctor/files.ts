/** What `nodemaint doctor` reads about the agent's files and directories, and about the inhibitor locks of others. */
import path from 'node:path';
import process from 'node:process';
import * as z from 'zod';
import { DROP_INS } from '../../config/load.ts';
import type { AgentConfig } from '../../config/schema.ts';
import type { DoctorFacts } from '../../show/checks/node-checks.ts';
import { type DelayLock, otherLocks } from '../../decide/shutdown/other-locks.ts';
import type { Login1 } from '../../host/systemd/login1.ts';
import type { Systemd } from '../../host/systemd/systemd1.ts';
import { describeRefusal, judgePath, type WantedPath } from '../../host/files/trusted-path.ts';
import type { LocalNode } from '../machine/local-node.ts';

export const UNIT = 'nodemaint.service';

/** The inhibitor locks that delay a shutdown, without the agent's own. Throws the errors of the bus. */
export async function readOtherLocks(login1: Login1, signal: AbortSignal): Promise<readonly DelayLock[]> {
  return otherLocks(await login1.listInhibitors(signal), process.getuid?.());
}

/** The paths that the agent's unit may write, and those that the agent needs to write. */
export async function readUnitPaths(
  { config, paths }: LocalNode,
  systemd: Systemd,
  signal: AbortSignal,
): Promise<DoctorFacts['unitPaths']> {
  const read = (name: string): Promise<unknown> =>
    systemd.unitProperty(UNIT, 'Service', name, signal).catch(() => undefined);
  const beside = [paths.staticPodPath, paths.parkedPath].map((place) => path.dirname(place));
  return {
    protectSystem: z
      .string()
      .catch('')
      .parse(await read('ProtectSystem')),
    writable: z
      .array(z.string())
      .catch([])
      .parse(await read('ReadWritePaths')),
    needed: [...beside, config.stateDirectory, config.runDirectory],
  };
}

/** The paths of the configuration that another user than root could change, each with its fix. */
export async function readUntrustedPaths(config: AgentConfig, configFile: string): Promise<readonly string[]> {
  const socket = config.containerRuntimeEndpoint.replace(/^unix:\/\//, '');
  const places: [string, WantedPath['kind']][] = [
    [configFile, 'file'],
    [path.join(path.dirname(configFile), DROP_INS), 'directory'],
    [config.kubeconfig, 'file'],
    [socket, 'socket'],
    [config.hooksDirectory, 'directory'],
  ];
  const found: string[] = [];
  for (const [place, kind] of places) {
    if (!path.isAbsolute(place)) continue;
    const verdict = await judgePath(place, { kind, lastLink: 'follow' });
    if (verdict.kind === 'refused') found.push(describeRefusal(verdict));
  }
  return found;
}
