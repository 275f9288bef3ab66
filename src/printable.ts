/** Texts from outside (nodes, users, the API server) made safe for a terminal and a log. */

/** Control characters, characters that change the direction of writing, and invisible ones. */
const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function escapeOf(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
}

/**
 * The text with every control character and invisible character, except line break and tab, as an escape such as `\u001b`.
 * JSON keeps its meaning.
 */
export function escaped(text: string): string {
  return text.replaceAll(STEERING, (character) => (/[\n\t]/.test(character) ? character : escapeOf(character)));
}

/** The same on one line: line breaks and tabs are escaped too. */
export function escapedLine(text: string): string {
  return text.replaceAll(STEERING, escapeOf);
}

/** A text from outside for the middle of a sentence: on one line, with a space for each run of such characters. */
export function printable(text: string): string {
  return text.replaceAll(STEERING, ' ').replaceAll(/ {2,}/g, ' ').trim();
}

/** The first `max` characters of a text, counted as the API server counts them, without splitting one. */
export function shortened(text: string, max: number): string {
  return Array.from(text.slice(0, 4 * max).toWellFormed())
    .slice(0, max)
    .join('');
}
