import type { FuzzTarget } from './target.ts';
import { ANNOTATION_TARGETS } from './targets/annotations.ts';
import { BUS_TARGET } from './targets/bus.ts';
import { DECISION_TARGETS } from './targets/decisions.ts';
import { FILE_TARGETS } from './targets/files.ts';
import { STREAM_TARGETS } from './targets/streams.ts';
import { TEXT_TARGETS } from './targets/texts.ts';
import { WATCH_TARGET } from './targets/watch.ts';

/** What takes data from outside by code of its own; what a schema of zod parses whole is no target. */
export const TARGETS: readonly FuzzTarget[] = [
  ...ANNOTATION_TARGETS,
  ...DECISION_TARGETS,
  ...FILE_TARGETS,
  ...STREAM_TARGETS,
  ...TEXT_TARGETS,
  BUS_TARGET,
  WATCH_TARGET,
];
