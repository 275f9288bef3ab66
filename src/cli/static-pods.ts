/** `nodemaint static-pods list|journal`: read from the disk, so that neither an agent nor an API server is needed. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { readBootId } from '../agent/boot.ts';
import { nodeNameOf } from '../agent/identity.ts';
import { askKubelet, locateStaticPods } from '../agent/static-pod-place.ts';
import { readStaticPods } from '../agent/static-pods.ts';
import { loadAgentConfig } from '../config/load.ts';
import type { AgentConfig } from '../config/schema.ts';
import type { KubeletFacts } from '../decide/kubelet-config.ts';
import { listStaticPods } from '../decide/static-pod-list.ts';
import { createContainerRuntime } from '../host/cri.ts';
import { findKubelet } from '../host/kubelet-config.ts';
import { loadClusterAccess } from '../kube/config.ts';
import { createDisk } from '../static-pods/disk.ts';
import { lastSteps, type JournalStep, parkStepOf, type ParkStep, readJournal } from '../static-pods/journal.ts';
import type { MoverPaths } from '../static-pods/mover.ts';
import type { Log } from '../telemetry/log.ts';
import type { Terminal } from './program.ts';
import type { OutputFormat } from './status.ts';
import { formatSpan, formatTable } from './status-table.ts';

/** The flags of `nodemaint static-pods` as the command line has them. */
export interface StaticPodsFlags {
  readonly config: string;
  readonly output: OutputFormat;
}

/** This machine's static pods, as its agent would see them. */
export interface LocalNode {
  readonly config: AgentConfig;
  readonly nodeName: string;
  readonly bootId: string;
  readonly paths: MoverPaths;
  readonly log: Log;
  readonly find: (signal: AbortSignal) => Promise<KubeletFacts | undefined>;
}

/** What the agent would log as a warning or an error, for a person. */
function createTerminalLog(terminal: Terminal): Log {
  const say = (fields: object, message: string): void => {
    const reason = 'reason' in fields ? `: ${String(fields.reason)}` : '';
    terminal.warn(`nodemaint: ${message}${reason}\n`);
  };
  const ignore = (): void => undefined;
  return { debug: ignore, info: ignore, warn: say, error: say };
}

/** Reads what the agent reads at its start. Throws CONFIG_INVALID. */
export async function openLocalNode(configPath: string, terminal: Terminal): Promise<LocalNode> {
  const config = await loadAgentConfig(configPath);
  const log = createTerminalLog(terminal);
  // A kubeconfig that is broken must not keep anybody from the manifests; it only has a name for the node.
  const access =
    config.kubeconfig === '' ? undefined : await loadClusterAccess(config.kubeconfig).catch(() => undefined);
  const nodeName = nodeNameOf(config, access);
  const find = async (look: AbortSignal): Promise<KubeletFacts | undefined> =>
    await findKubelet({ kubeconfig: config.kubeconfig, nodeName }, look);
  const paths = await locateStaticPods(config, await askKubelet(find, log, terminal.stop), log);
  return { config, nodeName, bootId: await readBootId(config), paths, log, find };
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
    const steps = parkSteps(await readJournal(paths.journalPath));
    const ignore = (): void => undefined;
    const reader = { ...node, runtime, onMissing: ignore, onRuntime: ignore };
    const view = await readStaticPods(reader, { paths, disk: createDisk() }, steps, terminal.stop);
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
  const steps = await readJournal(paths.journalPath);
  const table = (): string => {
    if (steps.length === 0) return `the journal ${paths.journalPath} has no steps: nothing is parked`;
    const rows = steps.map((step) => {
      const at = 'at' in step ? new Date(step.at).toISOString() : '-';
      return [at, step.op, step.file, 'maintenance' in step ? step.maintenance : '-'];
    });
    return formatTable([['TIME', 'STEP', 'FILE', 'MAINTENANCE'], ...rows]);
  };
  terminal.write(print(steps, table, flags.output));
}
