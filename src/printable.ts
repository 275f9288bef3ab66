/** Texts of others (nodes, users, the API server) as a person can read them safely. */

/** Control characters, characters that turn the direction of writing, and invisible ones. */
const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function escapeOf(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
}

/**
 * A text in which nothing can steer a terminal or pass for something else: control characters other than the line break
 * and the tab, and invisible ones, come out as `\u001b`. JSON stays the same JSON.
 */
export function escaped(text: string): string {
  return text.replaceAll(STEERING, (character) => (/[\n\t]/.test(character) ? character : escapeOf(character)));
}

/** The same for a text that is to stay on one line: line breaks and tabs are escaped too. */
export function escapedLine(text: string): string {
  return text.replaceAll(STEERING, escapeOf);
}

/** A text of somebody else for the middle of a sentence: on one line, with a space for what cannot be shown. */
export function printable(text: string): string {
  return text.replaceAll(STEERING, ' ').replaceAll(/ {2,}/g, ' ').trim();
}

/** The first `max` characters of a text, counted as the API server counts them, none of them halved. */
export function shortened(text: string, max: number): string {
  return Array.from(text.slice(0, 4 * max).toWellFormed())
    .slice(0, max)
    .join('');
}
