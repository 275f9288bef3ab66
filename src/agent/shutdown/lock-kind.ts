import path from 'node:path';
import type { AgentConfig } from '../../config/schema.ts';
import { createChildLock, createNoLock, createUnitLock, type ShutdownLock } from '../../host/systemd/inhibitor.ts';
import type { Login1 } from '../../host/systemd/login1.ts';
import type { Systemd } from '../../host/systemd/systemd1.ts';
import type { Log } from '../../telemetry/log.ts';

/** logind and systemd of this machine. */
export interface Host {
  readonly login1: Login1;
  readonly systemd: Systemd;
}

/** Creates the inhibitor lock of the configured kind. `onLost` is called when a child process that held the lock ends by itself. */
export function createShutdownLock(
  config: AgentConfig,
  host: Host | undefined,
  log: Log,
  onLost: () => void,
): ShutdownLock {
  if (host === undefined || config.lock === 'none') return createNoLock();
  if (config.lock === 'child') return createChildLock({ login1: host.login1, log, onLost });
  return createUnitLock({ ...host, log, heartbeatPath: path.join(config.runDirectory, 'alive') });
}
