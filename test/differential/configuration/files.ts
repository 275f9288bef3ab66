/** The files of a configuration, and random changes of them. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';
import { CONFIG_API_VERSION } from '../../../src/api/names.ts';
import { DROP_INS } from '../../../src/config/load.ts';
import type { Random } from '../../chaos/random.ts';
import { drawFitting } from '../schema/fitting.ts';
import { drawOutside, type Outside } from '../schema/outside.ts';
import { type Json, type Schema, schemaAt } from '../schema/schema.ts';

/** The contents of the files, by their names; that of a file that is not there is absent. */
export type Files = ReadonlyMap<string, Json>;

/** The name of the main file; all others are drop-ins. */
export const MAIN_FILE = 'config.yaml';
/** In the order in which they apply. */
const NAMES = [MAIN_FILE, '10-cloud.yaml', '50-installer.yaml'] as const;
const HEAD = { apiVersion: CONFIG_API_VERSION, kind: 'AgentConfiguration' };

/** One change of the files. */
export interface Change {
  readonly files: Files;
  readonly file: string;
  /** What is bad in the file by the schema alone; absent where nothing is. */
  readonly outside?: Outside;
}

/** The files with which each sequence begins. */
export const FIRST_FILES: Files = new Map([[MAIN_FILE, HEAD]]);

function placeOf(folder: string, name: string): string {
  return name === MAIN_FILE ? path.join(folder, name) : path.join(folder, DROP_INS, name);
}

/** The text of a file; entries that are the same are written out. */
export function textOf(content: Json): string {
  return stringify(content, { aliasDuplicateObjects: false });
}

/** Makes the folder have these files and no others of a configuration. */
export async function writeFiles(folder: string, files: Files): Promise<void> {
  await mkdir(path.join(folder, DROP_INS), { recursive: true, mode: 0o755 });
  for (const name of NAMES) {
    const content = files.get(name);
    const place = placeOf(folder, name);
    if (content === undefined) await rm(place, { force: true });
    else await writeFile(place, textOf(content), { mode: 0o644 });
  }
}

/** Whether the head of a file is what is bad, or the file as a whole: no other key is looked at then. */
export function isHead({ path: [key] }: Outside): boolean {
  return key === undefined || key === 'apiVersion' || key === 'kind';
}

/** Whether a later file replaces the bad value, or a part of it. */
export function isReplaced({ files, file, outside }: Change): boolean {
  const [key] = outside?.path ?? [];
  const later = NAMES.slice(NAMES.findIndex((name) => name === file) + 1);
  return outside !== undefined && !isHead(outside) && later.some((name) => String(key) in (files.get(name) ?? {}));
}

/** Sets one key of the file, takes one away, or writes all of them anew. */
function drawContent(schema: Schema, before: Json, random: Random): Json {
  const keys = Object.keys(schema.properties ?? {}).filter((key) => !(key in HEAD));
  const key = keys[random.whole(keys.length)] ?? '';
  switch (random.whole(4)) {
    case 0: {
      const { [key]: _, ...rest } = before;
      return rest;
    }
    case 1:
      return drawFitting(schema, random) as Json;
    default:
      return { ...before, [key]: drawFitting(schemaAt(schema, [key]), random) };
  }
}

/** Draws a change; about every third one is bad. */
export function drawChange(schema: Schema, files: Files, random: Random): Change {
  const file = random.pick([MAIN_FILE, ...NAMES]);
  const before = files.get(file) ?? HEAD;
  if (random.whole(3) === 0) {
    const outside = drawOutside(schema, before, { unknownKeys: true }, random);
    return { files: new Map([...files, [file, outside.value as Json]]), file, outside };
  }
  if (file !== MAIN_FILE && random.whole(4) === 0) {
    return { files: new Map([...files].filter(([name]) => name !== file)), file };
  }
  return { files: new Map([...files, [file, drawContent(schema, before, random)]]), file };
}
