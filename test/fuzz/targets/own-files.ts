/** What the agent itself has written: journal, record, memories. A disk may have made anything of it. */
import { createHash } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { readBootId } from '../../../src/agent/shutdown/boot-id.ts';
import { createKnownPods } from '../../../src/agent/drain/offline/known-pods.ts';
import { openNoticeMemory } from '../../../src/agent/notices/memory.ts';
import { readRecord, writeRecord } from '../../../src/agent/phase/record.ts';
import { locateStaticPods } from '../../../src/agent/static-pods/find-directory.ts';
import { createSystemClock } from '../../../src/host/clock.ts';
import { openStateFiles, type StateFiles } from '../../../src/host/files/state-files.ts';
import { formatStep, parseJournal } from '../../../src/static-pods/journal/journal.ts';
import { mutatedJson, mutatedText } from '../mutate.ts';
import { assertFinite, attempt, type FuzzTarget, textTarget, textOf } from '../target.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';

const QUIET = (): void => undefined;

const STEP = {
  op: 'park',
  file: 'etcd.yaml',
  sha256: 'ab',
  maintenance: 'shutdown-n1-x',
  at: 1_780_000_000_000,
  bootId: 'boot',
  pod: {
    namespace: 'a',
    name: 'b',
    podName: 'b-n1',
    labels: { a: 'b' },
    priority: 1,
    priorityKnown: true,
    graceSec: 30,
  },
  origin: {
    path: '/etc/kubernetes/manifests/etcd.yaml',
    parkedPath: '/p',
    mode: 384,
    uid: 0,
    gid: 0,
  },
} as const;
const SHUTDOWN = {
  maintenance: 'shutdown-n1-x',
  mode: 'offline',
  origin: 'logind',
  reason: 'node reboot',
  since: 1_780_000_000_000,
  sinceBootMs: 5_000,
  bootId: 'b',
  deadline: { at: 1_780_000_100_000, since: 1_780_000_000_000 },
} as const;
const RECORD = {
  version: 2,
  phase: { kind: 'released', releasedAt: 1, ...SHUTDOWN },
  offlineTargets: [{ podPriority: 1, podType: 'Default' }],
};
const NOTICES = { version: 1, seen: { 'aws/spot': { at: 1_780_000_000_000, servedBoot: 'b' } } };
const PODS = { version: 1, pods: [{ uid: 'u', podType: 'DaemonSet', priority: 7 }] };
const PLACE = {
  staticPodPath: '/etc/kubernetes/manifests',
  parkedPath: '/etc/kubernetes/nodemaint-parked',
  only: 'a.yaml',
};

/** A line with a checksum that is right, whatever it says. */
function withChecksum(text: string): string {
  return text
    .split('\n')
    .map((line) => `${createHash('sha256').update(line).digest('hex').slice(0, 16)} ${line}\n`)
    .join('');
}

async function journal(text: string): Promise<void> {
  const steps = await attempt(() => parseJournal(text, 'journal'));
  if (steps === undefined) return;
  assertFinite(steps, 'journal');
  const again = parseJournal(steps.map(formatStep).join(''), 'journal');
  if (!isDeepStrictEqual(again, steps)) throw new Error('reads otherwise what it wrote');
}

/** A target that reads one file of the state directory; damaged ones may be moved aside. */
function stateTarget(
  name: string,
  file: string,
  inputs: FuzzTarget['inputs'],
  read: (state: StateFiles, folder: string) => Promise<unknown>,
): FuzzTarget {
  return {
    name,
    inputs,
    open: (folder) => ({
      run: async (input) => {
        await writeFile(path.join(folder, file), textOf(input));
        const state = await openStateFiles({ directory: folder, runDirectory: path.join(folder, 'run') });
        assertFinite(await attempt(() => read(state, folder)), name);
        for (const left of await readdir(folder)) if (left.startsWith(`${file}.`)) await rm(path.join(folder, left));
      },
    }),
  };
}

/** The targets that are files of the agent. */
export const OWN_FILE_TARGETS: readonly FuzzTarget[] = [
  textTarget(
    'journal',
    mutatedText(formatStep(STEP) + formatStep({ op: 'restore', file: 'etcd.yaml', parked: STEP })),
    journal,
  ),
  textTarget('journal-steps', mutatedJson(STEP), (text) => journal(withChecksum(text))),
  stateTarget('record', 'record.json', mutatedJson(RECORD), async (state) => {
    const record = await readRecord(state, QUIET);
    await writeRecord(state, record);
    const again = await readRecord(state, () => {
      throw new Error('cannot read what it wrote');
    });
    if (!isDeepStrictEqual([again.phase, again.offlineTargets], [record.phase, record.offlineTargets]))
      throw new Error('reads otherwise what it wrote');
    return record;
  }),
  stateTarget('notices-memory', 'notices.json', mutatedJson(NOTICES), async (state) => {
    const memory = await openNoticeMemory(state, 'boot', SILENT_LOG);
    memory.seenAt('new', 5);
    memory.keep(new Set(['new']));
    await memory.save();
    return memory.seenAt('new', 6);
  }),
  stateTarget('known-pods', 'pods.json', mutatedJson(PODS), async (state) => {
    const kubeletPods = (): Promise<undefined> => Promise.resolve(undefined);
    const rest = { nodeName: 'n1', client: undefined, kubeletPods, clock: createSystemClock(), log: SILENT_LOG };
    return [...(await createKnownPods({ state, ...rest }).read([], AbortSignal.timeout(10_000))).pods];
  }),
  stateTarget(
    'static-pods-place',
    'static-pods.json',
    mutatedJson(PLACE),
    async (state, folder) =>
      await locateStaticPods(
        { stateDirectory: folder, runDirectory: path.join(folder, 'run') },
        state,
        undefined,
        SILENT_LOG,
      ),
  ),
  stateTarget('boot-id', 'boot_id', mutatedText('3b1f0d2e-0000-4000-8000-000000000000\n'), async (_state, folder) => {
    await writeFile(path.join(folder, 'soft-reboots'), '3\n');
    return await readBootId({ bootIdPath: path.join(folder, 'boot_id'), runDirectory: folder });
  }),
];
