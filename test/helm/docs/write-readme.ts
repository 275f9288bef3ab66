/** Writes manifests/chart/README.md: `.ci/node --disable-warning=ExperimentalWarning test/helm/docs/write-readme.ts`. */
import { writeFile } from 'node:fs/promises';
import { chartReadme, README } from './helm-docs.ts';

await writeFile(README, await chartReadme(new AbortController().signal));
