/**
 * Writes the alerts and the dashboard of manifests/monitoring, which are made from config.ts, alerts.ts and panels.ts:
 * `.ci/node --disable-warning=ExperimentalWarning .ci/mixin/write.ts`.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { dashboardText, rulesText } from './texts.ts';

const MONITORING = path.join(import.meta.dirname, '..', '..', 'manifests', 'monitoring');

await writeFile(path.join(MONITORING, 'rules.yaml'), rulesText());
await writeFile(path.join(MONITORING, 'dashboard.json'), dashboardText());
