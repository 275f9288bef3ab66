import { readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { describeError } from '../errors.ts';
import { replaceFile } from '../host/durable-file.ts';
import type { Log } from '../telemetry/log.ts';

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
  /** Makes durable what changed since the last time; throws what the file system says. */
  save(): Promise<void>;
}

/** Reads the memory of earlier runs; a damaged one is moved aside, and nothing but the first sight of notices is lost. */
export async function openNoticeMemory(stateDirectory: string, bootId: string, log: Log): Promise<NoticeMemory> {
  const file = path.join(stateDirectory, 'notices.json');
  const read = async (): Promise<Seen> => {
    try {
      return memorySchema.parse(JSON.parse(await readFile(file, 'utf8'))).seen;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      log.error({ file, reason: describeError(error) }, 'memory of notices is damaged, moving it aside');
      await rename(file, `${file}.damaged`);
      return {};
    }
  };
  const seen = new Map(Object.entries(await read()));
  let isSaved = true;
  return {
    seenAt: (id, now) => {
      const known = seen.get(id);
      if (known !== undefined) return known.at;
      seen.set(id, { at: now });
      isSaved = false;
      return now;
    },
    isServed: (id) => {
      const boot = seen.get(id)?.servedBoot;
      return boot !== undefined && boot !== bootId;
    },
    serve: (ids) => {
      for (const id of ids) {
        const known = seen.get(id);
        if (known === undefined || known.servedBoot === bootId) continue;
        seen.set(id, { ...known, servedBoot: bootId });
        isSaved = false;
      }
    },
    keep: (ids) => {
      for (const id of seen.keys()) {
        if (ids.has(id)) continue;
        seen.delete(id);
        isSaved = false;
      }
    },
    save: async () => {
      if (isSaved) return;
      isSaved = true;
      const text = JSON.stringify({ version: 1, seen: Object.fromEntries(seen) }, null, 2);
      await replaceFile(file, `${text}\n`, 0o600);
    },
  };
}
