import { MAX_FUNCTION_LINES, MAX_PARAMETERS, type LongFunction } from './functions.ts';
import { ORDER } from './layers.ts';
import type { Circles, Structure } from './measure.ts';

const FOLDERS_SHOWN = 5;

/** The measurements as text for people: a line each, with what it consists of below. */
export function structureTable(structure: Structure): string {
  const { lines, folders, long, agentContext, widestInAgent } = structure;
  const top = long.filter(({ nested }) => !nested);
  const rows: readonly Row[] = [
    ['files in src', structure.files, []],
    ['lines in src: code', lines.code, []],
    ['lines in src: comments', lines.comments, []],
    ['lines in src: blank', lines.blank, []],
    ['files in the largest folder', folders[0]?.files ?? 0, largest(structure)],
    ...circleRows('circles between files', structure.circles),
    ...circleRows('circles between folders', structure.folderCircles),
    [
      'upward imports',
      structure.upward.length,
      [`order: ${ORDER}`, ...structure.upward.map((arrow) => arrow.join(' > '))],
    ],
    [`members of the agent's context (${agentContext.name || 'none'})`, agentContext.members, []],
    [`members of the widest interface in src/agent (${widestInAgent.name})`, widestInAgent.members, []],
    ['functions, nested ones included', structure.functions, []],
    [`functions over ${MAX_FUNCTION_LINES} lines`, top.length, top.map(describe)],
    [
      `nested functions over ${MAX_FUNCTION_LINES} lines`,
      long.length - top.length,
      long.filter(({ nested }) => nested).map(describe),
    ],
    [
      `functions with more than ${MAX_PARAMETERS} parameters`,
      structure.manyParameters.length,
      structure.manyParameters.map(describe),
    ],
    ['files in src/agent', structure.agentFiles, []],
    ['files in src/agent that no unit test imports', structure.untestedAgentFiles.length, structure.untestedAgentFiles],
  ];
  const width = Math.max(...rows.map(([title]) => title.length));
  return rows.map((row) => `${rowText(row, width)}\n`).join('');
}

type Row = readonly [title: string, value: number, details: readonly string[]];

function rowText([title, value, details]: Row, width: number): string {
  return [`${title.padEnd(width)}  ${String(value).padStart(6)}`, ...details.map((detail) => `    ${detail}`)].join(
    '\n',
  );
}

function largest({ folders }: Structure): readonly string[] {
  return folders.slice(0, FOLDERS_SHOWN).map(({ folder, files }) => `${folder} ${files}`);
}

function circleRows(title: string, { withTypes, withoutTypes }: Circles): readonly Row[] {
  const details = (circles: Circles['withTypes']): readonly string[] => circles.map((circle) => circle.join(', '));
  return [
    [`${title}, type imports included`, withTypes.length, details(withTypes)],
    [`${title}, without type imports`, withoutTypes.length, details(withoutTypes)],
  ];
}

function describe({ file, line, name, count }: LongFunction): string {
  return `${count} ${name} (${file}:${line})`;
}
