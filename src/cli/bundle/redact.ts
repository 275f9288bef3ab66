/** Takes secrets out of what leaves a machine. It would rather take out too much. */

const GONE = '[taken out]';

/** Names of keys whose values are secrets, wherever they stand in a longer name. */
const KEY =
  '[\\w.-]*(?:token|passw(?:or)?d|passphrase|secret|credential|private[-_]?key|api[-_]?key|access[-_]?key|client-key|key-data|certificate-data|authorization|cookie|bearer)[\\w.-]*';

/** A value in quotes, in quotes that are escaped once more, or without. */
const VALUE = `(?:\\\\+"(?:(?!\\\\+")[^])*\\\\+"|"(?:[^"\\\\]|\\\\.)*"|'[^']*'|[^\\s,;}\\]\\\\]+)`;
const QUOTE = `\\\\*["']?`;

const RULES: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [^-\n]+-----[\s\S]*?(?:-----END [^-\n]+-----|$)/g, GONE],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${GONE}`],
  // KEY: value, "KEY": "value", KEY=value and --KEY value; names of objects and of files that are not values stay.
  // Text in JSON has its quotes escaped once more.
  [new RegExp(`(${QUOTE}${KEY}${QUOTE}\\s*[:=]\\s*)${VALUE}`, 'gi'), `$1"${GONE}"`],
  // The environment of a container: {"name": "DB_PASSWORD", "value": "…"}.
  [
    new RegExp(`(name${QUOTE}\\s*:\\s*${QUOTE}${KEY}${QUOTE},?\\s*${QUOTE}value${QUOTE}\\s*:\\s*)${VALUE}`, 'gi'),
    `$1"${GONE}"`,
  ],
  [new RegExp(`(--${KEY}\\s+)\\S+`, 'gi'), `$1${GONE}`],
  // A JSON Web Token, a bootstrap token, an access key of AWS, a password in a URL.
  [/\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, GONE],
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, GONE],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, GONE],
  [/(\w+:\/\/)[^\s/@:]+:[^\s/@]+@/g, `$1${GONE}@`],
  // Long runs of base64 are keys and certificates more often than anything that helps.
  [/[A-Za-z0-9+/]{120,}={0,2}/g, GONE],
];

/** The text without what looks like a secret. */
export function redacted(text: string): string {
  return RULES.reduce((so, [pattern, by]) => so.replaceAll(pattern, by), text);
}
