/** The advice that messages give: read from the source, so that none is forgotten. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/** A literal of the source, with … for what is put in when the program runs. */
export interface Advice {
  readonly file: string;
  readonly text: string;
}

const ROOT = path.join(import.meta.dirname, '..', '..');
/** A literal, on one line or, of a template, on several. */
const LITERAL = /'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`/g;
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

/** Every literal of the program. */
export function literalsOfSource(): readonly Advice[] {
  return sourcesBelow('src').flatMap((file) => literalsOf(codeOf(file)).map((text) => ({ file, text })));
}

/** Every literal of the program that names a command of it. */
export function textsWithCommands(): readonly Advice[] {
  return literalsOfSource().filter(({ text }) => /\bnodemaint [a-z]/.test(text));
}
