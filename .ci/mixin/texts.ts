import { stringify } from 'yaml';
import { alertRules } from './alerts.ts';
import { dashboard } from './dashboard.ts';

const HEAD = `# Made by .ci/mixin/write.ts from what is beside it. Alerts by the metrics of the controller (job nodemaint-controller) and of the
# agents (job nodemaint-agent). Each says where to read on: docs/usage/monitoring.md. test/prometheus has their unit tests.
`;

/** The text of manifests/monitoring/rules.yaml. */
export function rulesText(): string {
  return HEAD + stringify(alertRules(), { lineWidth: 0 });
}

/** The text of manifests/monitoring/dashboard.json. */
export function dashboardText(): string {
  return `${JSON.stringify(dashboard(), undefined, 2)}\n`;
}
