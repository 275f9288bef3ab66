/**
 * `nodemaint static-pods park|restore`: through the agent where one runs, else by its rules in this process. There is never a
 * second writer: this process opens the agent's control socket, which only one process can hold.
 */
import path from 'node:path';
import { carryOutManualRequests, ManualRequests } from '../../agent/static-pods/manual-requests.ts';
import { askAgent } from '../../agent/control/client.ts';
import { openControlSocket } from '../../agent/control/socket.ts';
import { openStore } from '../../agent/static-pods/find-directory.ts';
import { NodemaintError } from '../../errors.ts';
import { createSystemClock } from '../../host/clock.ts';
import { createContainerRuntime } from '../../host/cri/runtime.ts';
import { isNameOfAgent } from '../../decide/maintenance/agent-names.ts';
import { MANUAL } from '../../decide/static-pod/parked.ts';
import { createDisk } from '../../static-pods/disk/disk.ts';
import { lastSteps, parkSteps, readJournal } from '../../static-pods/journal/journal.ts';
import { readInPlace } from '../../static-pods/inventory.ts';
import { printable } from '../../printable.ts';
import { EXIT } from '../terminal/exit-code.ts';
import { parseTimeout, timeLimit, usage } from '../arguments/parse.ts';
import { untrustedPlace } from '../../static-pods/trusted-places.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { type LocalNode, openLocalNode } from '../machine/local-node.ts';

type MoveVerb = 'park' | 'restore';

/** The flags of both commands. */
export interface MoveFlags {
  readonly config: string;
  readonly timeout: string;
  readonly all?: boolean;
}

const POLL_MS = 200;

/** The files that can be moved: to park, manifests in place; to restore, all parked files. */
async function filesFor(verb: MoveVerb, node: LocalNode, signal: AbortSignal): Promise<readonly string[]> {
  if (verb === 'restore') {
    return (await createDisk().list(node.paths.parkedPath)).filter((name) => !name.startsWith('.'));
  }
  try {
    return (await readInPlace(node.paths, node.nodeName, signal)).manifests.map(({ file }) => file);
  } catch (error) {
    if (error instanceof NodemaintError && error.code === 'STATIC_POD_DIRECTORY_MISSING') return [];
    throw error;
  }
}

/** The files of the names or paths. Throws USAGE for one that cannot be moved. */
async function chooseFiles(
  verb: MoveVerb,
  { names, all }: { readonly names: readonly string[]; readonly all: boolean },
  node: LocalNode,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const directory = verb === 'park' ? node.paths.staticPodPath : node.paths.parkedPath;
  const there = await filesFor(verb, node, signal);
  if (all) return there;
  const orAll = verb === 'restore' ? ', or --all' : '';
  if (names.length === 0) throw usage(`${verb} needs the names of manifests${orAll}`);
  const files = [...new Set(names.map((name) => path.basename(name)))];
  const missing = files.find((file) => !there.includes(file));
  const known = there.length === 0 ? '' : `: it has ${there.join(', ')}`;
  if (missing !== undefined) throw usage(`${directory} has no static pod manifest ${missing}${known}`);
  return files;
}

/** The maintenances for which these files are parked. A journal that cannot be read keeps nobody from putting them back. */
async function maintenancesOf(files: readonly string[], { paths }: LocalNode): Promise<readonly string[]> {
  const steps = parkSteps(lastSteps(await readJournal(paths.journalPath, paths.journalStandIn).catch(() => [])));
  const names = files.flatMap((file) => steps.get(file)?.maintenance ?? []);
  return [...new Set(names)].filter((name) => name !== '' && name !== MANUAL);
}

/** Asks the agent and waits until the files are where they were asked to be. */
async function moveByAgent(
  verb: MoveVerb,
  files: readonly string[],
  node: LocalNode,
  signal: AbortSignal,
): Promise<void> {
  for (const file of files) await askAgent(node.config.runDirectory, { verb, file });
  const clock = createSystemClock();
  for (;;) {
    const left = await filesFor(verb, node, signal);
    if (!files.some((file) => left.includes(file))) return;
    await clock.sleep(POLL_MS, signal);
  }
}

/** Moves the files in this process; writes to standard error what it waits for. */
async function moveHere(
  { verb, files }: { readonly verb: MoveVerb; readonly files: readonly string[] },
  node: LocalNode,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  const requests = new ManualRequests();
  for (const file of files) requests[verb](file);
  const runtime = createContainerRuntime(node.config.containerRuntimeEndpoint);
  try {
    const store = await openStore(node.state, node.paths, node.log);
    const onWait = (message: string): void => {
      terminal.warn(`${printable(message)}\n`);
    };
    await carryOutManualRequests(requests, { ...node, store, runtime, clock: createSystemClock() }, onWait, signal);
  } finally {
    runtime.close();
  }
}

/** What becomes of manifests that are put back during a maintenance. Completing that of a shutdown lets the machine go down. */
export function whyParkedAgain(name: string, nodeName: string): string {
  const how = isNameOfAgent(name, nodeName) ? 'see: nodemaint status' : `to end it: nodemaint complete nm/${name}`;
  return `as long as nodemaintenance/${name} drains this node, the agent parks them again; ${how}`;
}

/** Moves manifests; returns the exit code. Throws USAGE, CONFIG_INVALID, PATH_NOT_TRUSTED, and what the mover throws. */
export async function moveStaticPodsCommand(
  verb: MoveVerb,
  names: readonly string[],
  flags: MoveFlags,
  terminal: Terminal,
): Promise<number> {
  const node = await openLocalNode(flags.config, terminal);
  const refusal = await untrustedPlace(node.paths);
  if (refusal !== undefined) throw new NodemaintError('PATH_NOT_TRUSTED', refusal);
  const limit = timeLimit(parseTimeout(flags.timeout));
  const signal = AbortSignal.any([terminal.stop, limit]);
  const files = await chooseFiles(verb, { names, all: flags.all === true }, node, terminal.stop);
  if (files.length === 0) {
    terminal.write(`nothing is parked in ${node.paths.parkedPath}\n`);
    return EXIT.done;
  }
  const causes = verb === 'restore' ? await maintenancesOf(files, node) : [];
  try {
    try {
      await using _socket = await openControlSocket(node.config.runDirectory, () => {
        throw new NodemaintError(
          'ALREADY_RUNNING',
          `"nodemaint static-pods ${verb}" is running; try again when it has finished`,
        );
      });
      await moveHere({ verb, files }, node, terminal, signal);
    } catch (error) {
      if (!(error instanceof NodemaintError) || error.code !== 'ALREADY_RUNNING') throw error;
      await moveByAgent(verb, files, node, signal);
    }
  } catch (error) {
    if (terminal.stop.aborted || !limit.aborted) throw error;
    terminal.warn(`nodemaint: not finished within ${flags.timeout}; see: nodemaint static-pods list\n`);
    return EXIT.timedOut;
  }
  const to = verb === 'park' ? node.paths.parkedPath : node.paths.staticPodPath;
  for (const file of files) terminal.write(`${file} ${verb === 'park' ? 'parked in' : 'restored to'} ${to}\n`);
  for (const cause of causes) terminal.warn(`nodemaint: ${whyParkedAgain(printable(cause), node.nodeName)}\n`);
  return EXIT.done;
}
