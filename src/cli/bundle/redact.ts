/** Takes secrets out of what leaves a machine. It would rather take out too much. */

const GONE = '[taken out]';

/** Words in the names of keys whose values are secrets, wherever they stand in a longer name. */
const WORDS = [
  'token|passw(?:or)?d|passphrase|passcode|secret|credential|bearer|authorization|cookie|signature|preshared|psk',
  // Words that are also a part of harmless ones: DB_PASS is a password, and "passes" is none.
  '(?<![a-z])(?:pass|pwd|pat|dsn|sig|auth)(?![a-z])',
  'private[-_]?key|api[-_]?key|access[-_]?key|shared[-_]?key|signing[-_]?key|encryption[-_]?key|master[-_]?key|account[-_]?key',
  'ssh[-_]?key|[a-z0-9][-_]key(?![a-z])|client-key|key-data|certificate-data|connection[-_]?string|dockerconfig|webhook[-_]?url',
];
/** Bounded, so that a long word takes no more time than a text of its length; LONG_NAME takes longer ones. */
const NAME = `[\\w.-]{0,100}?(?:${WORDS.join('|')})[\\w.-]{0,100}`;
/** No name that a person gives: its value may be anything. */
const LONG_NAME = '(?<![\\w.-])[\\w.-]{100,}';
/** Begins where a word begins, so that long runs of letters are read once. */
const KEY = `(?<![\\w.-])${NAME}`;

/** A value in quotes, in quotes that are escaped once more, or without; not one that is taken out already. */
const VALUE = `(?!\\\\{0,8}["']?\\[taken out\\])(?:\\\\{1,8}"(?:(?!\\\\{1,8}")[^])*\\\\{1,8}"|"(?:[^"\\\\]|\\\\.)*"|'[^']*'|[^\\s,;}\\]\\\\]+)`;
const QUOTE = `\\\\{0,8}["']?`;
/** Variables that say how a program runs, and help. */
const HARMLESS = '(?:NODE_[A-Z_]+|NODEMAINT_[A-Z_]+|POD_[A-Z_]+|PATH|LANG|LC_[A-Z]+|TZ|(?:HTTPS?|NO)_PROXY)';
/** Base64 with capitals, small letters and digits in it; hexadecimal digests and paths stay. */
const BASE64 =
  '(?<![A-Za-z0-9+/])(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])(?=[A-Za-z+/]*\\d)[A-Za-z0-9+/]{60,}={0,2}|(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{120,}={0,2}';

/** `start` and, in place of the value that follows it in `match`, that it is taken out, in the quotes that stand there. */
function withoutValue(match: string, start: string): string {
  const quote = /^\\{1,8}"/.exec(match.slice(start.length)) ?? /\\{1,8}"(?=[^"]*$)/.exec(start);
  return `${start}${quote?.[0] ?? '"'}${GONE}${quote?.[0] ?? '"'}`;
}

const RULES: readonly (readonly [RegExp, string | typeof withoutValue])[] = [
  // Keys and certificates, also those whose beginning or end is not there.
  [/-----BEGIN [^-\n]+-----[\s\S]*?(?:-----END [^-\n]+-----|$)/g, GONE],
  [/(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]+(?:\\{1,8}n|[\s#]){0,8}-----END [^-\n]+-----/g, GONE],
  [new RegExp(BASE64, 'g'), GONE],
  [/\b(Bearer|Basic|Negotiate)\s+[\w.~+/=-]{6,}/gi, `$1 ${GONE}`],
  // A header to the end of its line or of the text that it stands in.
  [/\b((?:proxy-)?authorization|(?:set-)?cookie)(\s*:\s*)(?!["'\\])[^"'\\\n]+/gi, `$1$2${GONE}`],
  // A value of several lines in YAML: those that are indented further than the key.
  [
    new RegExp(
      `^([ \\t#]*)((?:- )?${QUOTE}${KEY}${QUOTE}:\\s*)[|>][-+\\d]*\\n(?:\\1[ \\t]+.*(?:\\n|$)|[ \\t#]*\\n)+`,
      'gim',
    ),
    `$1$2${GONE}\n`,
  ],
  // The data of a Secret, in YAML and in JSON.
  [/^([ \t#]*)((?:string)?data:)[ \t]*\n(?:\1[ \t]+.*(?:\n|$))+/gim, `$1$2 ${GONE}\n`],
  [/(\\{0,8}"(?:string)?data\\{0,8}"\s*:\s*)\{[^{}]*\}/gi, withoutValue],
  // KEY: value, "KEY": "value", KEY=value and --KEY value; names of objects and of files that are not values stay.
  // Text in JSON has its quotes escaped once more.
  [new RegExp(`(${QUOTE}${KEY}${QUOTE}\\s*[:=]\\s*)${VALUE}`, 'gi'), withoutValue],
  [new RegExp(`(${LONG_NAME}${QUOTE}\\s*[:=]\\s*)${VALUE}`, 'g'), withoutValue],
  // The environment of a container, {"name": "DB_URL", "value": "…"}, whatever its name, and of a unit.
  [
    new RegExp(
      `(name${QUOTE}\\s*:\\s*${QUOTE}(?!${HARMLESS}\\b)[A-Z][A-Z0-9_]*${QUOTE},?[\\s#]*${QUOTE}value${QUOTE}\\s*:\\s*)${VALUE}`,
      'g',
    ),
    withoutValue,
  ],
  [
    new RegExp(`(name${QUOTE}\\s*:\\s*${QUOTE}${KEY}${QUOTE},?[\\s#]*${QUOTE}value${QUOTE}\\s*:\\s*)${VALUE}`, 'gi'),
    withoutValue,
  ],
  // The arguments of a program: --KEY value, and "--KEY", "value" in a list.
  [new RegExp(`((?<![\\w-])--(?=[\\w.])(?:${NAME})(?:\\s+|${QUOTE}\\s*,\\s*))${VALUE}`, 'gi'), `$1${GONE}`],
  [/(\s-u\s+)[^\s:]+:\S+/g, `$1${GONE}`],
  [/(\blogin\s+\S+\s+password\s+)\S+/gi, `$1${GONE}`],
  // A JSON Web Token, a bootstrap token, an access key of AWS, tokens that begin with the name of their service.
  [/\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?/g, GONE],
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, GONE],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, GONE],
  [
    /\b(?:gh[pousr]_|github_pat_|glpat-|xox[a-z]-|sk_live_|AIza|ya29\.|hv[sb]\.|npm_|dckr_pat_|SG\.|AGE-SECRET-KEY-1)[\w.-]{8,}/g,
    GONE,
  ],
  // Who a URL is for: USER:PASSWORD@ and TOKEN@. A password may have an @ in it.
  [/(:\/\/)[^\s/"'<>\\]{1,512}@/g, `$1${GONE}@`],
];

/** The names of an Environment= line of a unit stay, and the values of those that help. */
function withoutEnvironment(text: string): string {
  const assignment = new RegExp(
    `(["']?)(?!${HARMLESS}=)(\\b[A-Za-z_]\\w*)=(?:[^"'\\s]*)(?:(?<=["']\\w+=[^"']*)[^"']*)?`,
    'g',
  );
  return text.replaceAll(/^([ \t]*Environment=)(.+)$/gm, (_, start: string, rest: string) => {
    return `${start}${rest.replaceAll(assignment, `$1$2=${GONE}`)}`;
  });
}

function withoutPatterns(text: string): string {
  return RULES.reduce(
    (so, [pattern, by]) => (typeof by === 'string' ? so.replaceAll(pattern, by) : so.replaceAll(pattern, by)),
    withoutEnvironment(text),
  );
}

const MAX_DEPTH = 100;

/** A list or an object in JSON; undefined for everything else. */
function parsedJson(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The same value, whose texts are read as they are meant: with their line breaks, and with JSON in them. */
function withRedactedTexts(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return GONE;
  if (typeof value === 'string') {
    const json = parsedJson(value);
    return json === undefined ? redactedText(value) : JSON.stringify(withRedactedTexts(json, depth + 1));
  }
  if (Array.isArray(value)) return value.map((each) => withRedactedTexts(each, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, each]) => [key, withRedactedTexts(each, depth + 1)] as const);
  return Object.fromEntries(entries);
}

/** A line of a log that ends in JSON, which may have a text of several lines. */
const JSON_LINE = /^([^{\n]*)(\{.*\})$/gm;

function redactedText(text: string): string {
  const lines = text.replaceAll(JSON_LINE, (line, start: string, json: string) => {
    const parsed = json.includes('\\n') ? parsedJson(json) : undefined;
    return parsed === undefined ? line : `${start}${JSON.stringify(withRedactedTexts(parsed, 0))}`;
  });
  return withoutPatterns(lines);
}

/** The text without what looks like a secret; JSON stays JSON. */
export function redacted(text: string): string {
  const json = parsedJson(text);
  return json === undefined
    ? redactedText(text)
    : `${withoutPatterns(JSON.stringify(withRedactedTexts(json, 0), null, 1))}\n`;
}
