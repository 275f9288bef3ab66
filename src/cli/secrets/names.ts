/** Pieces of expressions: the names under which secrets stand, and the values beside them. */

/** What stands in place of a secret. */
export const GONE = '[taken out]';

/**
 * A word without a break that is longer than this is taken out as a whole: no name and no digest of a cluster is so long, and
 * no expression has to look through longer ones.
 */
export const MAX_WORD = 512;

/** Words in the names of keys whose values are secrets, wherever they stand in a longer name. */
const WORDS = [
  'token|passw|pass[-_]?phrase|pass[-_]?code|secret|credential|bearer|authorization|cookie|signature|preshared|psk|jwt|hmac',
  'mnemonic|masterauth|kennwort',
  // Words that are also a part of harmless ones: DB_PASS is a password, and "passes" is none.
  '(?<![a-z])(?:pass|pw|pwd|pat|dsn|sig|auth|otp|totp|pin|creds?|sid)(?![a-z])',
  'private[-_]?key|api[-_]?key|access[-_]?key|shared[-_]?key|signing[-_]?key|encryption[-_]?key|master[-_]?key|account[-_]?key',
  'ssh[-_]?key|[a-z0-9][-_]key(?![a-z])|client-key|key-data|certificate-data|connection[-_]?string|dockerconfig|webhook[-_]?ur[il]',
  'session[-_]?(?:id|key)',
].join('|');
/** The same in the middle of a name whose words begin with capitals: dbPass. For expressions that tell capitals apart. */
const CAPITAL_WORDS = '[a-z0-9](?:Pass|Pw|Pwd|Pat|Dsn|DSN|Sig|Auth|Otp|Pin|Creds?|Key)(?![a-z])';

/** A name begins where a word begins, and is bounded, so that a long word takes no more time than a text of its length. */
const BEGIN = '(?<![\\w.-])';
/** The name of a secret, for expressions that do not tell capitals apart. */
export const NAME = `[\\w.-]{0,100}?(?:${WORDS})[\\w.-]{0,100}`;
/** The same where a word begins. */
export const KEY = BEGIN + NAME;
/** A name with capitals in it, where a word begins; for expressions that tell capitals apart. */
export const CAPITAL_KEY = `${BEGIN}[\\w.-]{0,100}?(?:${CAPITAL_WORDS})[\\w.-]{0,100}`;
/** No name that a person gives: its value may be anything. */
export const LONG_KEY = `${BEGIN}[\\w.-]{100,${MAX_WORD}}`;

/** A quote, also one that is escaped once more or more often, as HTML, or none. */
export const QUOTE = `(?:\\\\{0,8}["'\`]|&quot;|&#3[49];|\\\\{1,8}u0022)?`;
/** Before a value, which may be on the next line; not where another name with its own value is there. */
const SPACE = `(?:[ \\t]{0,200}(?=\\S)|\\s{0,200}(?!["']?[\\w.-]{1,200}["']?[ \\t]{0,5}(?::\\s|=["'])))`;
/** What stands between a name and its value: also `=>`, `:=`, and what URLs have for them. */
export const BETWEEN = `[\\])]{0,2}\\s{0,200}(?:[:=]{1,3}>?|->|%3[ad])${SPACE}`;

const IN_QUOTES = [
  `\\\\{1,8}"(?:(?!\\\\{1,8}")[^])*\\\\{1,8}"`,
  '"(?:[^"\\\\]|\\\\.)*"',
  "'[^']*'",
  '`[^`]*`',
  '&quot;(?:(?!&quot;)[^\\n])*&quot;',
  // One that has no end, as where a log is cut: to the end of its line.
  '["\'`][^\\n]*',
].join('|');
/** Characters that end a value unless more of a word follows them that is no other name with a value. */
const INSIDE = `[,;}\\])](?=[^\\s"'\\\\,;{}[\\]()])(?![\\w. "-]{1,64}[:=])`;
/** A value in quotes of any kind, or without; not one that is taken out already. */
export const VALUE = `(?!${QUOTE}\\[taken out\\])(?:${IN_QUOTES}|(?:[^\\s,;}\\])\\\\]|${INSIDE}|\\\\[^nrtu"'\`\\s\\\\])+)`;

/** Variables and settings that say how a program or a system runs, and help. */
export const HARMLESS =
  '(?:NODE_(?:OPTIONS|ENV|NAME|VERSION|EXTRA_CA_CERTS)|NODEMAINT_[A-Z_]+|POD_(?:NAME|NAMESPACE|IP|UID)|KUBERNETES_[A-Z_]+|MALLOC_[A-Z_]+|PATH|LANG|LC_[A-Z]+|TZ|HOME|' +
  'HOSTNAME|USER|SHELL|TERM|(?:HTTPS?|NO)_PROXY|(?:PRETTY_)?NAME|ID|ID_LIKE|VERSION|(?:VERSION|BUILD|VARIANT|IMAGE)_(?:ID|CODENAME)|' +
  'VARIANT|(?:HOME|SUPPORT|BUG_REPORT|DOCUMENTATION|PRIVACY_POLICY)_URL|CPE_NAME|ANSI_COLOR|LOGO|PID|UID|GID|CPU|USEC|MODE|SIG[A-Z]+)';
/** A label of Kubernetes with its domain: what a `key` is in selectors and taints. */
export const LABEL = `(?:[a-z0-9-]{1,63}\\.){1,8}[a-z]{2,20}/[\\w.-]{1,63}(?![\\w+/=-])|metadata\\.name`;
