/** The advice that messages give: read from the source, so that none is forgotten. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** A literal of the source that advises something, with … for what is put in when the program runs. */
export interface Advice {
  readonly file: string;
  readonly text: string;
}

const ROOT = path.join(import.meta.dirname, '..', '..');
/** A literal, on one line or, of a template, on several. */
const LITERAL = /'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`/g;
/** What a member or constant is set to that holds advice. */
const FIX = /\b(?:fix|APPLY|logs|restart)(?::| =)(?!\s*(?:string|readonly))([\s\S]*?)(?:;\n|,\n|\s\}[,;)\s])/g;
/** A judgement of `nodemaint check` with its message and its advice. */
const JUDGEMENT = /\b(?:fail|warn)\(([^;]*?(?:`[^`]*`|'[^'\n]*'|"[^"\n]*"))(?:,\s*)?\)/g;
/** Words shorter than this are no advice but arguments of the code around it. */
const SHORTEST = 9;

function sourcesBelow(place: string): readonly string[] {
  if (statSync(path.join(ROOT, place)).isFile()) return [place];
  return readdirSync(path.join(ROOT, place)).flatMap((name) => sourcesBelow(path.join(place, name)));
}

/** The source without its comments, and without its imports. */
function codeOf(file: string): string {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  return text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '').replaceAll(/^import [\s\S]*?;$/gm, '');
}

function literalsOf(code: string): readonly string[] {
  const found = [...code.matchAll(LITERAL)].map(([, single, double, template]) => single ?? double ?? template ?? '');
  return found.map((text) => text.replaceAll(/\$\{[^}]*\}/g, '…').replaceAll(/\\(['"`])/g, '$1'));
}

/** What the checks of `nodemaint doctor` and `nodemaint check` advise, each text once. */
export function adviceOfChecks(): readonly string[] {
  const places = [
    'src/show/checks',
    'src/cli/doctor',
    'src/decide/machine/ups-shutdown.ts',
    'src/decide/machine/logind-delay.ts',
  ];
  const texts = places.flatMap(sourcesBelow).flatMap((file) => {
    const code = codeOf(file);
    const fixes = [...code.matchAll(FIX)].flatMap(([, value = '']) => literalsOf(value));
    const judged = [...code.matchAll(JUDGEMENT)].flatMap(([, inner = '']) => literalsOf(inner).slice(-1));
    return [...fixes, ...judged];
  });
  return [...new Set(texts)].filter((text) => text.length >= SHORTEST && text !== '…; or helm upgrade').toSorted();
}

/** Every literal of the program that names a command of it. */
export function textsWithCommands(): readonly Advice[] {
  return sourcesBelow('src').flatMap((file) =>
    literalsOf(codeOf(file))
      .filter((text) => /\bnodemaint [a-z]/.test(text))
      .map((text) => ({ file, text })),
  );
}
