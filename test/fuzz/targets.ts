import type { FuzzTarget } from './target.ts';
import { ANNOTATION_TARGETS } from './targets/annotations.ts';
import { DECISION_TARGETS } from './targets/decisions.ts';
import { FILE_TARGETS } from './targets/files.ts';
import { OWN_FILE_TARGETS } from './targets/own-files.ts';
import { SERVICE_TARGETS } from './targets/services.ts';
import { STREAM_TARGETS } from './targets/streams.ts';
import { TEXT_TARGETS } from './targets/texts.ts';
import { WATCH_TARGET } from './targets/watch.ts';

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
];
