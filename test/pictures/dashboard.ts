/** The picture of the dashboard with 400 nodes of which five are drained at a time: each panel with what a real Prometheus answers. */
import { element, painted, STYLE } from '../../src/cli/report/markup.ts';
import { type FleetDatabase, openFleetDatabase } from '../prometheus/fleet-database.ts';
import { dashboardPanels, type Panel } from '../support/monitoring.ts';
import { drawPanel, type DrawnPanel, type PanelLine } from './panel-svg.ts';

const NODES = 400;
/** The size of a cell of Grafana's grid in pixels, and the space between panels. */
const [CELL_WIDTH, CELL_HEIGHT, SPACE] = [50, 30, 4];
const COLUMNS = 24;

/** The name of a line, as Grafana makes it of the labels. */
function nameOf(format: string, labels: Readonly<Record<string, string>>): string {
  return format.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? '');
}

/** The colour of a line by the panel's rules: those of its name, or of a number. */
function colourOf({ fieldConfig }: Panel, name: string, last: number): string | undefined {
  const { overrides = [], defaults } = fieldConfig ?? {};
  const own = overrides.find(({ matcher }) => matcher.options === name)?.properties[0]?.value.fixedColor;
  return own ?? defaults?.thresholds?.steps.findLast(({ value }) => value === null || last >= value)?.color;
}

async function linesOf(panel: Panel, { prometheus, end }: FleetDatabase): Promise<readonly PanelLine[]> {
  const { targets = [] } = panel;
  const found = await Promise.all(
    targets.map(async ({ expr, legendFormat = '' }) =>
      (await prometheus.queryHour(expr, end)).map(({ metric, values = [] }) => ({
        name: nameOf(legendFormat, metric),
        colour: colourOf(panel, nameOf(legendFormat, metric), Number(values.at(-1)?.[1])),
        points: values.map(([at, value]) => [at, Number(value)] as const).filter(([, value]) => Number.isFinite(value)),
      })),
    ),
  );
  return found.flat();
}

function kindOf({ type, fieldConfig }: Panel): DrawnPanel['kind'] {
  if (type === 'row') return 'row';
  if (type === 'stat') return 'stat';
  return fieldConfig?.defaults.custom?.stacking === undefined ? 'lines' : 'stacked';
}

/** The picture, as SVG. */
export async function dashboardPicture(signal: AbortSignal): Promise<string> {
  await using database = await openFleetDatabase(NODES, signal);
  const panels = await dashboardPanels();
  const drawn: string[] = [];
  for (const panel of panels) {
    const { x, y, w, h } = panel.gridPos;
    const size = { width: w * CELL_WIDTH - SPACE, height: h * CELL_HEIGHT - SPACE };
    const place = { x: SPACE + x * CELL_WIDTH, y: SPACE + y * CELL_HEIGHT, ...size };
    const unit = panel.fieldConfig?.defaults.unit ?? 'short';
    const lines = await linesOf(panel, database);
    drawn.push(drawPanel({ title: panel.title, kind: kindOf(panel), unit, lines, place }, database.end));
  }
  const height = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) * CELL_HEIGHT + 2 * SPACE;
  const width = COLUMNS * CELL_WIDTH + 2 * SPACE;
  const title = `<title>The dashboard with ${NODES} nodes, of which five are drained at a time</title><style>${STYLE}</style>`;
  const paper = element('rect', { x: 0, y: 0, width, height, ...painted('paper') });
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    class: 'report',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
  };
  return `${element('svg', attributes, title + paper + drawn.join('\n'))}\n`;
}
