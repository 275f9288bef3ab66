/** The report of a shutdown as one page that loads nothing and runs nothing. */
import { rfc3339 } from '../../decide/time.ts';
import type { Row, Timeline } from '../../show/story/timeline.ts';
import { formatSpan } from '../../decide/duration.ts';
import { markup, PAGE_COLOURS, STYLE } from './markup.ts';
import { drawSvg } from './svg.ts';
import { offsetText, sentenceOf, titleOf } from './words.ts';

const PAGE = [
  'body{margin:0}',
  'body.report{min-height:100vh}',
  '.report main{max-width:1120px;margin:0 auto;padding:16px}',
  '.report svg{max-width:100%;height:auto;display:block}',
  '.report h2{font-size:18px;margin-top:32px;margin-bottom:8px}',
  '.report h2,.report p,.report table{margin-left:32px}',
  '.report table{border-collapse:collapse;width:calc(100% - 64px);font-size:13px}',
  '.report th{text-align:left;font-weight:500}',
  '.report td,.report th{padding:6px 12px 6px 0;border-bottom:1px solid;vertical-align:top}',
  '.report td.time{white-space:nowrap;font-variant-numeric:tabular-nums}',
  '.report td.pod{overflow-wrap:anywhere;min-width:180px}',
  '@media print{body.report{min-height:0}}',
].join('\n');

function cells(row: readonly (readonly [string, string])[]): string {
  return `<tr>${row.map(([style, text]) => `<td class="${style}">${markup(text)}</td>`).join('')}</tr>`;
}

function table(head: readonly string[], rows: readonly string[]): string {
  const titles = head.map((title) => `<th scope="col">${markup(title)}</th>`).join('');
  return `<table><thead><tr>${titles}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`;
}

function podRow({ pod, from, to, gone, spans }: Row, line: Timeline): string {
  const wordsOf = ({ kind, text }: Row['spans'][number]): string => (kind === 'ending' ? 'its own end' : text);
  const waits = spans.map((span) => `${formatSpan(span.to - span.from)}: ${wordsOf(span)}`).join('; ');
  return cells([
    ['pod', pod],
    ['time', offsetText(from, line.from)],
    ['time', gone ? offsetText(to, line.from) : 'left'],
    ['time', formatSpan(to - from)],
    ['', waits],
  ]);
}

/** The page of a time line, or of several: one for each node. */
export function drawHtml(lines: readonly Timeline[]): string {
  const title = lines.map(titleOf).join(', ');
  const sections = lines.map((line) => {
    const causes = line.causes.map(({ ms, pods, text }) =>
      cells([
        ['time', formatSpan(ms)],
        ['time', String(pods)],
        ['', text],
      ]),
    );
    const tiers = line.tiers.map(
      ({ name, rows }) =>
        `<h2>${markup(name)}</h2>${table(
          ['Pod', 'Asked', 'Gone', 'Took', 'What it did and waited for'],
          rows.map((row) => podRow(row, line)),
        )}`,
    );
    const moments = line.moments.map(({ at, text }) =>
      cells([
        ['time', rfc3339(at)],
        ['', text],
      ]),
    );
    return [
      drawSvg(line),
      `<p>${markup(sentenceOf(line))}</p>`,
      `<h2>What was waited for</h2>${table(['For', 'Pods', 'What'], causes)}`,
      ...tiers,
      `<h2>What happened</h2>${table(['At', 'What'], moments)}`,
    ].join('\n');
  });
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${markup(title)}</title>`,
    `<style>${STYLE}\n${PAGE}\n${PAGE_COLOURS}</style></head>`,
    `<body class="report"><main>${sections.join('\n')}</main></body></html>`,
    '',
  ].join('\n');
}
