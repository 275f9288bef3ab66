import { globSync } from 'node:fs';
import type { FuzzTarget } from './target.ts';
import { ANNOTATION_TARGETS } from './targets/annotations.ts';
import { DECISION_TARGETS } from './targets/decisions.ts';
import { FILE_TARGETS } from './targets/files.ts';
import { OWN_FILE_TARGETS } from './targets/own-files.ts';
import { SERVICE_TARGETS } from './targets/services.ts';
import { STREAM_TARGETS } from './targets/streams.ts';
import { TEXT_TARGETS } from './targets/texts.ts';
import { WATCH_TARGET } from './targets/watch.ts';

/** Those of the add-ons, of which nothing else knows. */
async function addonTargets(): Promise<readonly FuzzTarget[]> {
  const files = globSync('addons/*/targets.ts', { cwd: import.meta.dirname }).toSorted();
  const modules = files.map(async (file) => {
    const { href } = new URL(file, import.meta.url);
    return ((await import(href)) as { readonly TARGETS: readonly FuzzTarget[] }).TARGETS;
  });
  return (await Promise.all(modules)).flat();
}

/** Everything that takes data from outside. */
export const TARGETS: readonly FuzzTarget[] = [
  ...ANNOTATION_TARGETS,
  ...DECISION_TARGETS,
  ...FILE_TARGETS,
  ...OWN_FILE_TARGETS,
  ...SERVICE_TARGETS,
  ...STREAM_TARGETS,
  ...TEXT_TARGETS,
  WATCH_TARGET,
  ...(await addonTargets()),
];
