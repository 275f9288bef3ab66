/**
 * What the configuration of a UPS monitor says about shutdowns: upsmon of Network UPS Tools (upsmon.conf(5), nut.conf(5)) and
 * apcupsd (apcupsd.conf(5)). upsmon.conf has passwords: nothing of it is kept but the settings below.
 */

/** When upsmon ends after it has called SHUTDOWNCMD: after so many seconds, or when it is stopped. */
type ShutdownExit = number | 'when stopped';

/** The settings of upsmon that matter for a shutdown. */
export interface UpsmonSettings {
  /** `primary` has the UPS and cuts the power; `none` monitors no UPS, or is not started. */
  readonly role: 'primary' | 'secondary' | 'none';
  /** SHUTDOWNCMD. */
  readonly command: string | undefined;
  readonly hostSyncSec: number;
  readonly finalDelaySec: number;
  readonly shutdownExit: ShutdownExit;
  /** Whether POWERDOWNFLAG is set, so that the power of all is cut when a primary is down. */
  readonly cutsPower: boolean;
  /** Whether nut.conf says that no other machine can ask the UPS of this one. */
  readonly isAlone: boolean;
}

/** The settings of apcupsd that matter for a shutdown. */
export interface ApcupsdSettings {
  readonly batteryLevelPercent: number;
  readonly minutes: number;
  readonly timeoutSec: number;
  readonly killDelaySec: number;
}

/** A longer word of upsmon.conf is cut off: no setting that is judged needs more. */
const MAX_WORD = 4096;
/** Further words of a line are dropped. */
const MAX_WORDS = 32;

const SPACES = ' \t\r\v\f';

/** What a character means where the parser is: before a word, in a word, in quotes, or in a comment. */
type Place = 'between' | 'word' | 'quotes' | 'comment';

/** Takes words character by character, as NUT does. */
interface Words {
  place: Place;
  word: string;
  line: string[];
  readonly lines: string[][];
}

function endWord(words: Words, next: Place): void {
  if (words.line.length < MAX_WORDS) words.line.push(words.word);
  words.word = '';
  words.place = next;
}

function endLine(words: Words): void {
  if (words.place === 'word') endWord(words, 'between');
  if (words.line.length > 0) words.lines.push(words.line);
  words.line = [];
  words.place = 'between';
}

/** Adds a character to the word; others than those of ASCII are dropped. */
function add(words: Words, char: string): void {
  if (char >= ' ' && char <= '~' && words.word.length < MAX_WORD) words.word += char;
}

function takeInQuotes(words: Words, char: string): void {
  if (char === '"') endWord(words, 'between');
  else add(words, char);
}

/** Takes a character outside of quotes and comments. */
function takePlain(words: Words, char: string): void {
  const isInWord = words.place === 'word';
  if (char === '\n') endLine(words);
  else if (char === '#' || SPACES.includes(char)) {
    const next = char === '#' ? 'comment' : 'between';
    if (isInWord) endWord(words, next);
    else words.place = next;
  } else if (char === '"' && !isInWord) words.place = 'quotes';
  else if (char === '=') {
    if (isInWord) endWord(words, 'between');
    words.word = '=';
    endWord(words, 'between');
  } else {
    words.place = 'word';
    add(words, char);
  }
}

/** The lines of a configuration of NUT, each as its words: quotes keep spaces, a backslash keeps the next character. */
export function nutLines(text: string): readonly (readonly string[])[] {
  const words: Words = { place: 'between', word: '', line: [], lines: [] };
  let isEscaped = false;
  for (const char of text) {
    if (words.place === 'comment') {
      if (char === '\n') endLine(words);
    } else if (isEscaped) {
      isEscaped = false;
      if (words.place === 'between') words.place = 'word';
      // A backslash at the end of a line joins it with the next one.
      if (char !== '\n') add(words, char);
    } else if (char === '\\') isEscaped = true;
    else if (words.place === 'quotes') takeInQuotes(words, char);
    else takePlain(words, char);
  }
  // A quotation that does not end is a word as well.
  if (words.place === 'quotes' && words.word !== '') endWord(words, 'between');
  endLine(words);
  return words.lines;
}

/** A whole number that is not negative; undefined for other words. */
function wholeNumber(word: string | undefined): number | undefined {
  return word !== undefined && /^\d{1,9}$/.test(word) ? Number(word) : undefined;
}

function shutdownExitOf(word: string | undefined): ShutdownExit {
  if (word === undefined) return 0;
  if (/^(?:no|off|false|-\d+)$/i.test(word)) return 'when stopped';
  return wholeNumber(word) ?? 0;
}

/** The mode in nut.conf, where it names one; the last one wins, as in a shell. */
function nutMode(nutConf: string | undefined): string | undefined {
  const found = [...(nutConf ?? '').matchAll(/^[ \t]*MODE[ \t]*=[ \t]*["']?([a-z]+)/gim)];
  return found.at(-1)?.[1]?.toLowerCase();
}

function roleOf(lines: readonly (readonly string[])[], mode: string | undefined): UpsmonSettings['role'] {
  if (mode === 'none') return 'none';
  const monitors = lines.filter(([name]) => name === 'MONITOR');
  const types = monitors.map((words) => words[5]?.toLowerCase() ?? '');
  if (types.some((type) => type === 'primary' || type === 'master')) return 'primary';
  // A UPS with the power value 0 is watched, and shuts nothing down.
  const feeds = monitors.some(([, , value], at) => value !== '0' && /^(?:secondary|slave)$/.test(types[at] ?? ''));
  return feeds ? 'secondary' : 'none';
}

/** Reads upsmon.conf, and nut.conf where there is one. */
export function parseUpsmon(upsmonConf: string, nutConf: string | undefined): UpsmonSettings {
  const lines = nutLines(upsmonConf);
  const valueOf = (name: string): string | undefined => lines.findLast(([first]) => first === name)?.[1];
  const mode = nutMode(nutConf);
  return {
    role: roleOf(lines, mode),
    command: valueOf('SHUTDOWNCMD'),
    hostSyncSec: wholeNumber(valueOf('HOSTSYNC')) ?? 15,
    finalDelaySec: wholeNumber(valueOf('FINALDELAY')) ?? 5,
    shutdownExit: shutdownExitOf(valueOf('SHUTDOWNEXIT')),
    cutsPower: (valueOf('POWERDOWNFLAG') ?? '') !== '',
    isAlone: mode === 'standalone',
  };
}

/** Reads apcupsd.conf: a name and a value on each line. Settings that are absent have the defaults of apcupsd. */
export function parseApcupsd(text: string): ApcupsdSettings {
  const settings = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [name = '', value] = line.trim().split(/\s+/, 2);
    if (value !== undefined && !name.startsWith('#')) settings.set(name.toUpperCase(), value);
  }
  const numberOf = (name: string, otherwise: number): number => wholeNumber(settings.get(name)) ?? otherwise;
  return {
    batteryLevelPercent: numberOf('BATTERYLEVEL', 5),
    minutes: numberOf('MINUTES', 3),
    timeoutSec: numberOf('TIMEOUT', 0),
    killDelaySec: numberOf('KILLDELAY', 0),
  };
}
