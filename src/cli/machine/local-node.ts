import { findNodeName, openApi } from '../../agent/node-name.ts';
import { readBootId } from '../../agent/shutdown/boot-id.ts';
import { locateStaticPods } from '../../agent/static-pods/find-directory.ts';
import { loadAgentConfig } from '../../config/load.ts';
import type { AgentConfig } from '../../config/schema.ts';
import type { KubeletScope } from '../../decide/machine/kubelet-config.ts';
import type { RefusedKubelet } from '../../decide/machine/kubelet-trust.ts';
import { createSystemClock } from '../../host/clock.ts';
import { createSystemBus } from '../../host/dbus/bus.ts';
import { openStateFiles, type StateFiles } from '../../host/files/state-files.ts';
import { createKubeletFinder, type KubeletFinder } from '../../host/kubelet/finder.ts';
import { Systemd } from '../../host/systemd/manager.ts';
import { printable } from '../../printable.ts';
import type { MoverPaths } from '../../static-pods/places.ts';
import type { Log } from '../../telemetry/log.ts';
import type { OutputFormat, Terminal } from '../terminal/terminal.ts';

/** What a command needs for the static pods of this machine, as its agent would find it. */
export interface LocalNode {
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly bootId: string;
  readonly state: StateFiles;
  readonly paths: MoverPaths;
  readonly log: Log;
  readonly find: KubeletFinder['config'];
  readonly findHome: KubeletFinder['home'];
  /** The processes that the last search for the kubelet did not trust. */
  readonly refusedKubelets: () => readonly RefusedKubelet[];
}

/** The flags of `nodemaint static-pods` as the command line has them. */
export interface StaticPodsFlags {
  readonly config: string;
  readonly output: OutputFormat;
}

/** Writes what the agent would log as a warning or an error to standard error. */
function createTerminalLog(terminal: Terminal): Log {
  const say = (fields: object, message: string): void => {
    const reason = 'reason' in fields ? `: ${printable(String(fields.reason))}` : '';
    terminal.warn(`nodemaint: ${message}${reason}\n`);
  };
  return { ...SILENT_LOG, warn: say, error: say };
}

const ignore = (): void => undefined;
/** The log of commands that say themselves what is wrong. */
export const SILENT_LOG: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Asks systemd over a connection that is closed at once, so that the command does not wait for the bus at its end. */
export const servicesOnce: Systemd['services'] = async (patterns, timeoutMs, signal) => {
  const lifetime = new AbortController();
  try {
    const bus = createSystemBus(
      { log: SILENT_LOG, clock: createSystemClock() },
      AbortSignal.any([signal, lifetime.signal]),
    );
    return await new Systemd(bus).services(patterns, timeoutMs, signal);
  } finally {
    lifetime.abort();
  }
};

/** Reads what the agent reads at its start. Throws CONFIG_INVALID. */
export async function openLocalNode(configPath: string, terminal: Terminal): Promise<LocalNode> {
  const config = await loadAgentConfig(configPath);
  const log = createTerminalLog(terminal);
  const scope: KubeletScope = { kubeconfig: config.kubeconfig };
  let refused: readonly RefusedKubelet[] = [];
  const kubelets = createKubeletFinder({
    scope,
    systemd: config.lock === 'none' ? undefined : { services: servicesOnce },
    unit: config.kubeletUnit,
    onRefused: (found) => {
      refused = found;
    },
  });
  const find = kubelets.config;
  const { stateDirectory: directory, runDirectory } = config;
  const state = await openStateFiles({ directory, runDirectory });
  const api = openApi(config.kubeconfig);
  const nodeName = await findNodeName({ config, api, kubelets, state }, terminal.stop).finally(() =>
    api?.client.close(),
  );
  scope.nodeName = nodeName;
  const { paths } = await locateStaticPods({ config, state, find, log }, terminal.stop);
  return {
    config,
    nodeName,
    bootId: await readBootId(config),
    state,
    paths,
    log,
    find,
    findHome: kubelets.home,
    refusedKubelets: () => refused,
  };
}
