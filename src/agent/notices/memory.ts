import * as z from 'zod';
import { describeError } from '../../errors.ts';
import type { StateFiles } from '../../host/files/state-files.ts';
import type { Log } from '../../telemetry/log.ts';

const memorySchema = z.object({
  version: z.literal(1),
  seen: z.record(z.string().max(500), z.object({ at: z.number(), servedBoot: z.string().exactOptional() })),
});
type Seen = z.infer<typeof memorySchema>['seen'];

/** What is remembered of notices over restarts and boots: since when they are known, and in which boot they were served. */
export interface NoticeMemory {
  /** When the notice was seen first, in milliseconds since the epoch; `now` for one that is new. */
  seenAt(id: string, now: number): number;
  /** Whether an earlier boot than this one was drained for it. */
  isServed(id: string): boolean;
  /** Notes that this boot is drained for these. */
  serve(ids: readonly string[]): void;
  /** Forgets all but these. */
  keep(ids: ReadonlySet<string>): void;
  /** Writes what changed since the last time; never fails, as `StateFiles` does not. */
  save(): Promise<void>;
}

const FILE = 'notices.json';

/** Reads the memory of earlier runs; a damaged one is moved aside, and nothing but the first sight of notices is lost. */
export async function openNoticeMemory(state: StateFiles, bootId: string, log: Log): Promise<NoticeMemory> {
  const read = async (): Promise<Seen> => {
    const text = await state.read(FILE);
    if (text === undefined) return {};
    try {
      return memorySchema.parse(JSON.parse(text)).seen;
    } catch (error) {
      log.error({ file: FILE, reason: describeError(error) }, 'memory of notices is damaged, moving it aside');
      await state.setAside(FILE, 'damaged');
      return {};
    }
  };
  const seen = new Map(Object.entries(await read()));
  const textOf = (): string => `${JSON.stringify({ version: 1, seen: Object.fromEntries(seen) }, null, 2)}\n`;
  let saved = textOf();
  return {
    seenAt: (id, now) => {
      const known = seen.get(id);
      if (known !== undefined) return known.at;
      seen.set(id, { at: now });
      return now;
    },
    isServed: (id) => {
      const boot = seen.get(id)?.servedBoot;
      return boot !== undefined && boot !== bootId;
    },
    serve: (ids) => {
      for (const id of ids) {
        const known = seen.get(id);
        if (known !== undefined) seen.set(id, { ...known, servedBoot: bootId });
      }
    },
    keep: (ids) => {
      for (const id of seen.keys()) if (!ids.has(id)) seen.delete(id);
    },
    save: async () => {
      const text = textOf();
      if (text === saved) return;
      await state.write(FILE, text);
      saved = text;
    },
  };
}
