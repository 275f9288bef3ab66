import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';

/** The folder of the objects for Prometheus and Grafana. */
export const MONITORING = path.join(import.meta.dirname, '..', '..', 'manifests', 'monitoring');

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

interface RuleGroups {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

/** A query of the dashboard. */
export interface PanelQuery {
  readonly title: string;
  readonly expression: string;
}

/** The queries of the dashboard, as those of its panels, with all clusters and nodes chosen, and an hour shown. */
export async function dashboardQueries(): Promise<readonly PanelQuery[]> {
  const { panels } = JSON.parse(await readFile(path.join(MONITORING, 'dashboard.json'), 'utf8')) as Dashboard;
  const chosen = (text: string): string => text.replaceAll(/\$(?:cluster|node)\b/g, '.*').replaceAll('$__range', '1h');
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expression: chosen(expr) })));
}

/** The groups of the alert rules, as a file of rules has them. */
export async function ruleGroups(): Promise<RuleGroups> {
  return (parse(await readFile(path.join(MONITORING, 'rules.yaml'), 'utf8')) as { spec: RuleGroups }).spec;
}

/** The names of the metrics in the rules and in the dashboard. */
export async function usedMetrics(): Promise<ReadonlySet<string>> {
  const rules = (await ruleGroups()).groups.flatMap((group) => group.rules.map(({ expr }) => expr));
  const texts = [...rules, ...(await dashboardQueries()).map(({ expression }) => expression)];
  const names = texts.flatMap((text) => {
    // Without the values and the names of labels.
    const bare = text.replaceAll(/\{[^}]*\}/g, '').replaceAll(/\b(?:by|on)\s*\([^)]*\)/g, '');
    return [
      ...bare.matchAll(/\b(?:nodemaint|nodemaintenance|evictionrequest|pod_evac|workqueue|leader|process|up)\w*/g),
    ];
  });
  return new Set(names.map(([name]) => name));
}
