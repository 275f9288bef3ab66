/** `nodemaint static-pods list`: read from the disk, so that neither an agent nor an API server is needed. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { readStaticPods } from '../../agent/static-pods/view.ts';
import { listStaticPods } from '../../show/static-pod-list.ts';
import { createContainerRuntime } from '../../host/cri/runtime.ts';
import { createDisk } from '../../static-pods/disk/disk.ts';
import { lastSteps, parkSteps, readJournal } from '../../static-pods/journal/journal.ts';
import { formatDocument } from '../terminal/document.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { formatTable } from '../terminal/table.ts';
import { formatSpan } from '../../decide/duration.ts';
import { openLocalNode, type StaticPodsFlags } from '../machine/local-node.ts';

/** The superseded manifests, by their paths in the parked directory. */
async function supersededIn(parkedPath: string): Promise<readonly string[]> {
  const entries = await readdir(path.join(parkedPath, '.superseded'), { recursive: true, withFileTypes: true }).catch(
    () => [],
  );
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(parkedPath, path.join(entry.parentPath, entry.name)));
}

/** `nodemaint static-pods list`: every manifest of this node and where it is. */
export async function listStaticPodsCommand(flags: StaticPodsFlags, terminal: Terminal): Promise<void> {
  const node = await openLocalNode(flags.config, terminal);
  const { paths, config } = node;
  const runtime = createContainerRuntime(config.containerRuntimeEndpoint);
  try {
    const steps = parkSteps(lastSteps(await readJournal(paths.journalPath, paths.journalStandIn)));
    const ignore = (): void => undefined;
    const reader = { ...node, runtime, onDirectory: ignore, onRuntime: ignore };
    const view = await readStaticPods(reader, { paths, disk: createDisk() }, { steps, inPlace: [] }, terminal.stop);
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
    const { output } = flags;
    terminal.write(
      output === 'table' ? `${table()}\n` : formatDocument('StaticPodManifestList', { items: entries }, output),
    );
  } finally {
    runtime.close();
  }
}
