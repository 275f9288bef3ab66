import { coloured, thresholdsOf } from './colours.ts';
import { CONFIG } from './config.ts';
import { type Panel, ROWS } from './panels.ts';

const DATA_SOURCE = { type: 'prometheus', uid: '${datasource}' };
/** The dashboard is this wide. */
const WIDTH = 24;
const SIZES = { stat: { w: 4, h: 4 }, lines: { w: 8, h: 8 }, ranked: { w: 8, h: 8 }, stacked: { w: 8, h: 8 } } as const;

const { clusterLabel: cluster, nodeLabel: node } = CONFIG;

/** A variable with the values of a label; "All" also takes series without the label. */
function labelVariable(name: string, label: string, query: string, title: string): object {
  return {
    name,
    type: 'query',
    label: title,
    datasource: DATA_SOURCE,
    query: { query: `label_values(${query}, ${label})`, refId: name },
    definition: `label_values(${query}, ${label})`,
    includeAll: true,
    multi: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
    refresh: 2,
    sort: 1,
  };
}

function optionsOf(kind: Panel['kind']): object {
  if (kind === 'stat') return { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value' };
  // Names of nodes fill a line each, and the legend has room for four lines: the highest comes first.
  const ranked = { displayMode: 'table', placement: 'bottom', calcs: ['max'], sortBy: 'Max', sortDesc: true };
  const legend = kind === 'ranked' ? ranked : { displayMode: 'list', placement: 'bottom' };
  return { legend, tooltip: { mode: 'multi', sort: 'desc' } };
}

function panelOf(panel: Panel, id: number, x: number, y: number): object {
  const { title, description, kind, unit = 'short', words = [], alarm, queries } = panel;
  const custom = kind === 'stacked' ? { custom: { stacking: { mode: 'normal' }, fillOpacity: 30 } } : {};
  // Grafana begins an axis above zero where no line is near it: what is stacked or filled would look like less than it is.
  const scale = kind === 'stat' ? { thresholds: thresholdsOf(alarm) } : { min: 0 };
  return {
    id,
    type: kind === 'stat' ? 'stat' : 'timeseries',
    title,
    description,
    datasource: DATA_SOURCE,
    gridPos: { x, y, ...SIZES[kind] },
    fieldConfig: { defaults: { unit, ...custom, ...scale }, overrides: coloured(words) },
    options: optionsOf(kind),
    targets: queries.map(([expr, legendFormat], place) => ({
      refId: 'ABCDEF'.charAt(place),
      datasource: DATA_SOURCE,
      expr,
      legendFormat,
    })),
  };
}

/** The panels of all rows, one after the other from left to right and from the top. */
function panels(): readonly object[] {
  let id = 0;
  let y = 0;
  return ROWS.flatMap((row) => {
    const heading = { id: (id += 1), type: 'row', title: row.title, collapsed: false, panels: [], gridPos: { x: 0, y, w: WIDTH, h: 1 } };
    y += 1;
    let x = 0;
    let height = 0;
    const placed = row.panels.map((panel) => {
      const { w, h } = SIZES[panel.kind];
      if (x + w > WIDTH || (height > 0 && h !== height)) {
        x = 0;
        y += height;
      }
      height = h;
      const made = panelOf(panel, (id += 1), x, y);
      x += w;
      return made;
    });
    y += height;
    return [heading, ...placed];
  });
}

/** The dashboard, as Grafana imports it. */
export function dashboard(): object {
  return {
    uid: 'nodemaint',
    title: 'Node maintenance',
    tags: ['nodemaint'],
    schemaVersion: 39,
    timezone: 'browser',
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    annotations: {
      list: [
        {
          name: 'Alerts',
          enable: true,
          iconColor: 'red',
          datasource: DATA_SOURCE,
          expr: `max by (alertname) (ALERTS{alertname=~"Nodemaint.+",alertstate="firing",${cluster}=~"$${cluster}"})`,
          titleFormat: '{{alertname}}',
          step: '60s',
        },
      ],
    },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' },
        labelVariable('cluster', cluster, 'nodemaint_build_info', 'Cluster'),
        labelVariable('node', node, `nodemaint_phase{${cluster}=~"$${cluster}"}`, 'Node'),
      ],
    },
    panels: panels(),
  };
}
