/** `nodemaint static-pods list|journal`: read from the disk, so that neither an agent nor an API server is needed. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { readBootId } from '../../agent/shutdown/boot-id.ts';
import { nodeNameOf } from '../../agent/node-name.ts';
import { askKubelet, locateStaticPods } from '../../agent/static-pods/directory.ts';
import { readStaticPods } from '../../agent/static-pods/view.ts';
import { loadAgentConfig } from '../../config/load.ts';
import type { RefusedKubelet } from '../../decide/machine/kubelet-trust.ts';
import { listStaticPods } from '../../decide/view/static-pod-list.ts';
import { createSystemClock } from '../../host/clock.ts';
import { createContainerRuntime } from '../../host/cri/runtime.ts';
import { createSystemBus } from '../../host/dbus/bus.ts';
import { createKubeletFinder } from '../../host/kubelet/finder.ts';
import { createSystemd, type Systemd } from '../../host/systemd/systemd1.ts';
import { openStateFiles } from '../../host/files/state-files.ts';
import { loadClusterAccess } from '../../kube/access/cluster.ts';
import { createDisk } from '../../static-pods/disk.ts';
import {
  lastSteps,
  type JournalStep,
  parkStepOf,
  type ParkStep,
  readJournal,
} from '../../static-pods/journal/journal.ts';
import type { Log } from '../../telemetry/log.ts';
import { printable } from '../../printable.ts';
import type { Terminal, OutputFormat } from '../terminal/terminal.ts';
import { formatTable, formatSpan } from '../terminal/text.ts';
import { preciseRfc3339 } from '../../decide/time.ts';
import type { LocalNode } from '../local-node.ts';

/** The flags of `nodemaint static-pods` as the command line has them. */
export interface StaticPodsFlags {
  readonly config: string;
  readonly output: OutputFormat;
}

/** What the agent would log as a warning or an error, for a person. */
function createTerminalLog(terminal: Terminal): Log {
  const say = (fields: object, message: string): void => {
    const reason = 'reason' in fields ? `: ${printable(String(fields.reason))}` : '';
    terminal.warn(`nodemaint: ${message}${reason}\n`);
  };
  const ignore = (): void => undefined;
  return { debug: ignore, info: ignore, warn: say, error: say };
}

/** Asks systemd over a connection of its own, so that a command that ends does not wait for the bus. */
const servicesOnce: Systemd['services'] = async (patterns, timeoutMs, signal) => {
  const lifetime = new AbortController();
  const ignore = (): void => undefined;
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  try {
    const bus = createSystemBus({ log, clock: createSystemClock() }, AbortSignal.any([signal, lifetime.signal]));
    return await createSystemd(bus).services(patterns, timeoutMs, signal);
  } finally {
    lifetime.abort();
  }
};

/** Reads what the agent reads at its start. Throws CONFIG_INVALID. */
export async function openLocalNode(configPath: string, terminal: Terminal): Promise<LocalNode> {
  const config = await loadAgentConfig(configPath);
  const log = createTerminalLog(terminal);
  // A kubeconfig that is broken must not keep anybody from the manifests; it only has a name for the node.
  const access =
    config.kubeconfig === '' ? undefined : await loadClusterAccess(config.kubeconfig).catch(() => undefined);
  const nodeName = nodeNameOf(config, access);
  let refused: readonly RefusedKubelet[] = [];
  const kubelets = createKubeletFinder({
    scope: { kubeconfig: config.kubeconfig, nodeName },
    systemd: config.lock === 'none' ? undefined : { services: servicesOnce },
    unit: config.kubeletUnit,
    onRefused: (found) => {
      refused = found;
    },
  });
  const find = kubelets.config;
  const { stateDirectory: directory, runDirectory } = config;
  const state = await openStateFiles({ directory, runDirectory });
  const paths = await locateStaticPods(config, state, await askKubelet(find, log, terminal.stop), log);
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

function print(value: unknown, table: () => string, output: OutputFormat): string {
  if (output === 'json') return `${JSON.stringify(value, null, 2)}\n`;
  return output === 'yaml' ? stringify(value) : `${table()}\n`;
}

/** Older contents, by their paths in the parked directory. */
async function supersededIn(parkedPath: string): Promise<readonly string[]> {
  const entries = await readdir(path.join(parkedPath, '.superseded'), { recursive: true, withFileTypes: true }).catch(
    () => [],
  );
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(parkedPath, path.join(entry.parentPath, entry.name)));
}

function parkSteps(steps: readonly JournalStep[]): ReadonlyMap<string, ParkStep> {
  return new Map(
    [...lastSteps(steps)].flatMap(([file, step]) => {
      const parked = parkStepOf(step);
      return parked === undefined ? [] : [[file, parked] as const];
    }),
  );
}

/** `nodemaint static-pods list`: every manifest of this node and where it is. */
export async function listStaticPodsCommand(flags: StaticPodsFlags, terminal: Terminal): Promise<void> {
  const node = await openLocalNode(flags.config, terminal);
  const { paths, config } = node;
  const runtime = createContainerRuntime(config.containerRuntimeEndpoint);
  try {
    const steps = parkSteps(await readJournal(paths.journalPath, paths.journalStandIn));
    const ignore = (): void => undefined;
    const reader = { ...node, runtime, onDirectory: ignore, onRuntime: ignore };
    const view = await readStaticPods(reader, { paths, disk: createDisk() }, steps, [], terminal.stop);
    const superseded = await supersededIn(paths.parkedPath);
    const entries = listStaticPods({ ...view, superseded });
    const table = (): string => {
      if (entries.length === 0) return `no static pods in ${paths.staticPodPath}`;
      const rows = entries.map(({ file, pod = '-', priority, state, maintenance = '-', since }) => {
        const ago = since === undefined ? '-' : formatSpan(terminal.now() - since);
        return [file, pod, priority === undefined ? '-' : String(priority), state, maintenance, ago];
      });
      return formatTable([['FILE', 'POD', 'PRIORITY', 'STATE', 'MAINTENANCE', 'SINCE'], ...rows]);
    };
    terminal.write(print(entries, table, flags.output));
  } finally {
    runtime.close();
  }
}

/** `nodemaint static-pods journal`: the mover's steps, oldest first. */
export async function journalCommand(flags: StaticPodsFlags, terminal: Terminal): Promise<void> {
  const { paths } = await openLocalNode(flags.config, terminal);
  const steps = await readJournal(paths.journalPath, paths.journalStandIn);
  const table = (): string => {
    if (steps.length === 0) return `the journal ${paths.journalPath} has no steps: nothing is parked`;
    const rows = steps.map((step) => {
      const at = 'at' in step ? preciseRfc3339(step.at) : '-';
      return [at, step.op, step.file, 'maintenance' in step ? step.maintenance : '-'];
    });
    return formatTable([['TIME', 'STEP', 'FILE', 'MAINTENANCE'], ...rows]);
  };
  terminal.write(print(steps, table, flags.output));
}
