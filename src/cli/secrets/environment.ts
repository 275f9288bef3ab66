/** Takes values out of the environment of programs: lists in YAML, and lines of units. Names stay. */
import { GONE, HARMLESS, KEY } from './names.ts';

const HARMLESS_NAME = new RegExp(`^(?:${HARMLESS})$`);
const SECRET_NAME = new RegExp(KEY, 'i');
/** A key of YAML whose values are variables: env, extraEnv, environment. */
const HEAD = /^([ \t#>]*(?:- )?)["']?[\w.-]{0,40}env(?:s|ironment)?["']?:[ \t]*(?:#.*)?$/i;
/** A line of a list or of a map. */
const ENTRY = /^([ \t#>]*(?:- )?["']?)([\w.-]{1,253})(["']?(?:: ?|=)[ \t]*)(.*)$/;
/** The name of a variable, and what has no value of one. */
const KEPT =
  /^(?:name|key|optional|apiVersion|fieldPath|valueFrom|fieldRef|configMapKeyRef|secretKeyRef|resourceFieldRef)$/;
/** One assignment of a line of a unit: NAME=value, with or without quotes around all of it. */
const ASSIGNMENT =
  /"([A-Za-z_]\w{0,253})=[^"]*"?|'([A-Za-z_]\w{0,253})=[^']*'?|(?<![\w"'])([A-Za-z_]\w{0,253})=(?:"[^"]*"?|'[^']*'?|[^\s"']*)/g;

/** Whether the value of a variable of this name says how a program runs, and helps. */
export function isHarmless(name: string): boolean {
  return HARMLESS_NAME.test(name) && !SECRET_NAME.test(name);
}

function indentOf(line: string): number {
  return /^[ \t#>]*/.exec(line)?.[0].length ?? 0;
}

/** The lines of the text whose values, in lists of variables, are taken out. */
export function withoutEnvironmentLists(text: string): string {
  let head: number | undefined;
  let name = '';
  const lines = text.split('\n').map((line) => {
    const indent = indentOf(line);
    const isItem = line.startsWith('- ', indent);
    if (head !== undefined && (indent > head || (indent === head && isItem) || line.trim() === '')) {
      const entry = ENTRY.exec(line);
      if (entry === null) return line.trim() === '' ? line : `${line.slice(0, indent)}${GONE}`;
      const [, start = '', key = '', between = '', value = ''] = entry;
      if (key === 'name' || key === 'key') name = value.replaceAll(/["', ]/g, '');
      if (KEPT.test(key) || value === '' || isHarmless(key === 'value' ? name : key)) return line;
      return `${start}${key}${between}${GONE}`;
    }
    const found = HEAD.exec(line);
    head = found === null ? undefined : indent;
    return line;
  });
  return lines.join('\n');
}

/** The same of the lines `Environment=` of units. */
export function withoutUnitEnvironment(text: string): string {
  return text.replaceAll(/^([ \t#>]*Environment=)(.+)$/gm, (_, start: string, rest: string) => {
    const left = rest.replaceAll(ASSIGNMENT, (all: string, double?: string, single?: string, bare?: string) => {
      const name = double ?? single ?? bare ?? '';
      if (isHarmless(name)) return all;
      const quote = double !== undefined ? '"' : single !== undefined ? "'" : '';
      return `${quote}${name}=${GONE}${quote}`;
    });
    return start + left;
  });
}
