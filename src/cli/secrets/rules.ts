/**
 * What takes secrets out of a text, one expression after the other. Each one takes a time that grows with the length of the
 * text, whatever is in it: test/unit/cli/secrets/redact-time.test.ts.
 */
import { BETWEEN, CAPITAL_KEY, GONE, HARMLESS, KEY, LABEL, LONG_KEY, MAX_WORD, NAME, QUOTE, VALUE } from './names.ts';

/** An expression, and what stands in place of what it finds. */
type Rule = readonly [pattern: RegExp, by: string | ((match: string, start: string) => string)];

/** `start` and, in place of the value that follows it in `match`, that it is taken out, in the quotes that stand there. */
function withoutValue(match: string, start: string): string {
  const quote = /^\\{1,8}"/.exec(match.slice(start.length)) ?? /\\{1,8}"(?=[^"]*$)/.exec(start.slice(-300));
  return `${start}${quote?.[0] ?? '"'}${GONE}${quote?.[0] ?? '"'}`;
}

/** An expression of what stands before a value: the value is taken out. */
function valueAfter(before: string, flags: string): Rule {
  return [new RegExp(`(${before})${VALUE}`, flags), withoutValue];
}

const BLANK = '[\\s#]{0,200}';
/** What stands between a flag and its value: also an item of a list, and the next line of a shell. */
const AFTER_FLAG = `(?:\\s[\\s#>]{0,200}(?:\\\\\\n[\\s#>]{0,200}|-\\s{1,20})?|${QUOTE}\\s{0,200},\\s{0,200}|${QUOTE}\\s[\\s#>]{0,200}-\\s{1,20}|=)${QUOTE}`;
/** Programs that take a password by a short flag. */
const PROGRAMS =
  'mysql\\w{0,20}|mariadb[\\w-]{0,20}|sshpass|mongo\\w{0,20}|redis-cli|valkey-cli|ldap\\w{1,20}|docker|podman|nerdctl|helm|skopeo|ipmitool|smbclient|sqlcmd|unzip|zip|openssl|htpasswd';

/** Keys and certificates, also those whose beginning or end is not there. */
const KEYS: readonly Rule[] = [
  [/-----BEGIN [^-\n]{1,100}-----[\s\S]*?(?:-----END [^-\n]{1,100}-----|$)/g, GONE],
  [/(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]+(?:\\{1,8}n|[\s#]){0,8}-----END [^-\n]{1,100}-----/g, GONE],
];

/** Words that are too long for every other expression, and the value where one is a name. */
const LONG_WORDS: readonly Rule[] = [
  valueAfter(`${LONG_KEY.replace(`,${MAX_WORD}}`, ',}')}${QUOTE}${BETWEEN}`, 'g'),
  [new RegExp(`(?<![\\w.+/=-])[\\w.+/=-]{${MAX_WORD},}`, 'g'), GONE],
];

/** Base64 with capitals, small letters and digits in it; hexadecimal digests and paths stay. */
const BASE64: Rule = [
  new RegExp(
    '(?<![A-Za-z0-9+/])(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])(?=[A-Za-z+/]*\\d)[A-Za-z0-9+/]{60,}={0,2}|' +
      '(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{120,}={0,2}|' +
      '(?<![\\w+/.-])(?=[a-z0-9+_]*[A-Z])(?=[A-Z0-9+_]*[a-z])(?=(?:[A-Za-z+_]*\\d){3})[\\w+]{32,}={0,2}(?![\\w/.-])',
    'g',
  ),
  GONE,
];

/** Headers, and values of several lines in YAML: the lines that are indented further than the key. */
const BLOCKS: readonly Rule[] = [
  [
    /\b(Bearer|Basic|Negotiate|Digest|ApiKey|Token)[ \t]{1,20}(?!realm|\[|\w{1,60}["']?[ \t]{0,5}:)[\w.~+/=-]{6,}/g,
    `$1 ${GONE}`,
  ],
  [/\b(bearer|basic)[ \t]{1,20}(?!realm|\[|\w{1,60}["']?[ \t]{0,5}:)[\w.~+/=-]{6,}/gi, `$1 ${GONE}`],
  [/\b((?:proxy-)?authorization|(?:set-)?cookie)(\s{0,20}:\s{0,20})(?!["'\\])[^"'\\\n]+/gi, `$1$2${GONE}`],
  [
    new RegExp(
      `^([ \\t#]*)((?:- )?${QUOTE}(?:${KEY}|(?<![\\w.-])key)${QUOTE}:[ \\t]{0,200})[|>][-+\\d]{0,3}[ \\t]*\\n(?:\\1[ \\t]+.*(?:\\n|$)|[ \\t#]*\\n)+`,
      'gim',
    ),
    `$1$2${GONE}\n`,
  ],
  // The data of a Secret.
  [/^([ \t#]*)((?:string|binary)?data:)[ \t]*\n(?:\1[ \t]+.*(?:\n|$))+/gim, `$1$2 ${GONE}\n`],
  [/((?:\\{0,8}")?\b(?:string|binary)?data(?:\\{0,8}")?\s{0,200}:\s{0,200})\{[^{}]*\}/gi, withoutValue],
];

/** KEY: value, "KEY": "value", KEY=value; text in JSON has its quotes escaped once more. */
const NAMED: readonly Rule[] = [
  // A line that is nothing but a name and its value, without quotes: to the end of the line.
  [
    new RegExp(
      `^([ \\t#>-]*(?:export )?(?:${KEY})(?::[ \\t]|[ \\t]{0,20}=)[ \\t]{0,20})(?![|>"'\`[{\\\\\\s]|(?:true|false|null)$).+$`,
      'gim',
    ),
    `$1${GONE}`,
  ],
  valueAfter(`${QUOTE}${KEY}${QUOTE}${BETWEEN}(?!(?:true|false|null)\\b)`, 'gi'),
  valueAfter(`${QUOTE}${CAPITAL_KEY}${QUOTE}${BETWEEN}(?!${QUOTE}(?:${LABEL}))`, 'g'),
  valueAfter(`${LONG_KEY}${QUOTE}${BETWEEN}`, 'g'),
  // Not the key of a selector, a toleration or a taint.
  valueAfter(
    `${QUOTE}(?<![\\w.-])keys?${QUOTE}\\s{0,200}[:=]\\s{0,200}(?!${QUOTE}(?:${LABEL}))(?!${QUOTE}[\\w./-]{1,317}${QUOTE},?${BLANK}${QUOTE}(?:operator|effect|values?)\\b)`,
    'gi',
  ),
  [new RegExp(`(<(?:\\w{1,20}:)?${NAME}(?:\\s[^<>]{0,200})?>)[^<]{1,4096}`, 'gi'), `$1${GONE}`],
  valueAfter(`(?<![\\w.-])(?:name|key)=["'](?:${NAME})["']\\s{1,20}value=`, 'gi'),
];

/** Between two fields of an object. */
const NEXT = `${QUOTE},?${BLANK}${QUOTE}`;
const COLON = `${QUOTE}\\s{0,20}:\\s{0,20}`;

/** The environment of a container, a unit or a shell, whatever the names in it. */
const ENVIRONMENT: readonly Rule[] = [
  // Before or after its name. That of a toleration stays, and that of a variable which says how a program runs.
  valueAfter(
    `(?<!(?<![\\w.-])(?:operator${COLON}${QUOTE}\\w{1,20}|name${COLON}${QUOTE}${HARMLESS})${NEXT})(?<![\\w.-])value${COLON}`,
    'g',
  ),
  valueAfter(`(?<![\\w.-])name${COLON}${QUOTE}${KEY}${NEXT}value${COLON}`, 'gi'),
  valueAfter(`(?<![\\w.-])(?!${HARMLESS}=)[A-Z][A-Z0-9_]{2,100}=`, 'g'),
  valueAfter(
    `(?<![\\w-])(?:-e|--env|--build-arg|--set(?:-string|-json)?|--from-literal)${AFTER_FLAG}(?!${HARMLESS}=)[\\w.[\\]-]{1,253}=`,
    'g',
  ),
];

/** The arguments of programs, and secrets in sentences. */
const WORDS: readonly Rule[] = [
  valueAfter(`(?<![\\w-])--?(?=[\\w.])(?:${NAME})${AFTER_FLAG}`, 'gi'),
  valueAfter(`\\b(?:${PROGRAMS})\\b[^\\n]{0,300}?[\\s"']-(?:pass(?:in|out)?|[pPawU])(?:${AFTER_FLAG})?`, 'g'),
  [/((?<![\w-])-p)(?!\d{1,5}(?:[^\w.-]|$))[^\s"',\\[\]]{3,}/g, `$1${GONE}`],
  [/((?<![\w-])(?:-u|-U|--(?:proxy-)?user)(?:[\s=]|["'],?\s{0,20}["'])?)[^\s:"',]{1,200}[:%][^\s"']+/g, `$1${GONE}`],
  [/(\blogin\s{1,20}\S{1,200}\s{1,20}password\s{1,20})\S+/gi, `$1${GONE}`],
  // The password of upsmon.
  [/(\bMONITOR\s{1,20}\S{1,200}\s{1,20}\d{1,3}\s{1,20}\S{1,200}\s{1,20})(?:"[^"\n]*"|\S+)/g, `$1${GONE}`],
  // password SECRET; one that is none is taken out too.
  [
    new RegExp(
      `((?<![\\w.-])(?:passw(?:or[dt])?|passphrase|passcode|pwd|requirepass|masterauth|community|identified by)(?:\\s{1,20}(?:is|was|are|to|of \\S{1,100} (?:is|was)))?\\s{1,20})${VALUE}`,
      'gi',
    ),
    `$1${GONE}`,
  ],
  // Of the other words only what looks as if nobody had chosen it.
  [
    /((?<![\w.-])(?:token|secret|key|credentials?|api ?key|code)(?:\s{1,20}(?:is|was))?\s{1,20}["'`]?)(?=[A-Za-z.~+/=_-]{0,100}\d)(?=[\d.~+/=_-]{0,100}[A-Za-z])[\w.~+/=-]{8,}/gi,
    `$1${GONE}`,
  ],
];

/** Names of services before tokens of theirs. */
const SERVICES = [
  'gh[pousr]_|github_pat_|gl[a-z]{2,6}-|xox[a-z]-|xapp-|[rs]k_(?:live|test)_|whsec_|sk-|AIza|ya29\\.|hv[sb]\\.|npm_|dckr_(?:pat|oat)_|SG\\.|AGE-SECRET-KEY-1',
  'pypi-|do[oprt]_v1_|glc_|glsa_|dapi(?=[0-9a-f])|shp[a-z]{2}_|lin_api_|hf_|dp\\.[a-z]{2}\\.|sntry[a-z]_|NRAK-|ATATT3|tskey-|pul-|rubygems_|key-(?=[0-9a-f]{32})',
].join('|');

/** Secrets that are known by their own form. */
const FORMS: readonly Rule[] = [
  // A JSON Web Token, also the beginning of one; a bootstrap token; an access key of AWS; a secret of Azure.
  [/(?<![\w-])eyJ[\w-]{6,}(?:\.[\w-]*){0,4}/g, GONE],
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, GONE],
  [/\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g, GONE],
  [/(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,}/g, GONE],
  [new RegExp(`(?<![A-Za-z0-9])(?:${SERVICES})[\\w.-]{8,}`, 'g'), GONE],
  // Hashes of passwords, as in /etc/shadow.
  [/\$(?:1|2[abxy]|5|6|7|y|gy|apr1|argon2\w{0,3}|scrypt|pbkdf2[\w-]{0,20})\$[^\s:"',]+/g, GONE],
  // .pgpass: HOST:PORT:DATABASE:USER:PASSWORD.
  [/^([ \t#]*[^\s:]{1,253}:(?:\d{4,5}|\*):[^\s:]{1,100}:[^\s:]{1,100}:)\S+$/gm, `$1${GONE}`],
  // Paths of webhooks of chats.
  [/(\/services\/)[A-Z]\w{0,20}\/B\w{0,20}\/[\w-]+/g, `$1${GONE}`],
  [
    /(\/(?:api\/webhooks|webhookb?2?|IncomingWebhook|hooks?|bot\/v2\/hook)\/)(?=[\w@-]*[\dA-Z])[\w@-]{6,}(?:\/[\w@-]{6,}){0,6}/g,
    `$1${GONE}`,
  ],
  [/(?<![A-Za-z0-9])((?:bot)?\d{6,12}):[\w-]{30,}/g, `$1:${GONE}`],
  [/([?&](?:code|k|sv?ig|auth|x-\w{1,20}-key)=)[^\s&"'<>\\]+/gi, `$1${GONE}`],
  // Who a URL is for: USER:PASSWORD@ and TOKEN@. A password may have an @ or a slash in it.
  [/(:\/\/[^\s/:"'<>\\@]{0,200}:)(?!\d{1,5}(?:[/?#\s]|$))[^\s"'<>\\]{1,512}@/g, `$1${GONE}@`],
  [/(:\/\/)[^\s/"'<>\\]{1,512}@/g, `$1${GONE}@`],
  [/(\bjdbc:oracle:\w{1,10}:)[^\s@"'\\]{1,200}@/g, `$1${GONE}@`],
  // USER:PASSWORD@HOST without more; an image has its digest there.
  [/((?<![\w.:/-])[\w.-]{1,64}:)(?!\[taken)[^\s@"'\\/]{1,200}@(?!sha\d)(?=[\w([])/g, `$1${GONE}@`],
];

/** All of them in their order. */
export const RULES: readonly Rule[] = [
  // What gives a terminal colours may stand between a name and its value.
  // oxlint-disable-next-line no-control-regex
  [/\u001B\[[\d;]{0,20}[A-Za-z]/g, ''],
  // So may a long run of blanks.
  [/[ \t]{100,}/g, ' '.repeat(8)],
  ...KEYS,
  ...LONG_WORDS,
  BASE64,
  ...BLOCKS,
  ...NAMED,
  ...ENVIRONMENT,
  ...WORDS,
  ...FORMS,
];
