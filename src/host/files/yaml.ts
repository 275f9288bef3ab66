/**
 * YAML that somebody else wrote. Its parser takes time and memory far beyond the size of a hostile text, so the text is
 * bounded in bytes, in the number of its tokens (which are counted at little cost before it is parsed), in aliases and in
 * depth. Text of 128 KiB within these bounds takes less than a second.
 */
import { type Document, type DocumentOptions, Lexer, parseDocument, type ParseOptions, type SchemaOptions } from 'yaml';

/** How much of it is taken. */
export interface YamlLimits {
  readonly bytes: number;
  /** Of scalars, punctuation, line ends and blanks: a line `key: value` has about six. */
  readonly tokens: number;
  readonly aliases: number;
}

/** Text that is beyond the limits, whatever it says. */
export class YamlLimitError extends Error {}

type Options = ParseOptions & DocumentOptions & SchemaOptions;

const KIBIBYTE = 1024;
const MAX_DEPTH = 100;

/** For configurations and kubeconfigs, of which real ones have hundreds of lines. */
export const CONFIG_LIMITS: YamlLimits = { bytes: 128 * KIBIBYTE, tokens: 16_000, aliases: 20 };

/** Returns the number of tokens. */
function checkSize(text: string, { bytes, tokens }: YamlLimits): number {
  if (Buffer.byteLength(text) > bytes) {
    throw new YamlLimitError(`over ${bytes / KIBIBYTE} KiB of YAML, too costly to parse: write it as JSON`);
  }
  let count = 0;
  for (const _ of new Lexer().lex(text)) {
    if (++count > tokens)
      throw new YamlLimitError(`over ${tokens} pieces of YAML, too costly to parse: write it as JSON`);
  }
  return count;
}

function parse(text: string, options: Options): Document {
  try {
    return parseDocument(text, { prettyErrors: false, logLevel: 'error', ...options }) as Document;
  } catch (error) {
    // The parser recurses, and runs out of stack where a text has thousands of levels.
    throw error instanceof RangeError ? new YamlLimitError('nested too deep', { cause: error }) : error;
  }
}

/** Parses one document, with all its errors in it. Throws YamlLimitError. */
export function composeYaml(text: string, limits: YamlLimits, options: Options = {}): Document {
  checkSize(text, limits);
  return parse(text, options);
}

/** Throws YamlLimitError for data that is nested so deep that what walks through it could run out of stack. */
function checkDepth(content: unknown): void {
  let level: readonly unknown[] = [content];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw new YamlLimitError(`nested more than ${MAX_DEPTH} deep`);
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  }
}

/** The data of a document. Throws an Error for too many aliases, and for one that is nested too deep. */
export function yamlContent(document: Document, { aliases }: YamlLimits): unknown {
  const content: unknown = document.toJS({ maxAliasCount: aliases });
  checkDepth(content);
  return content;
}

function parseJson(text: string): { readonly content: unknown } | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return { content: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/**
 * Makes a reader of texts in YAML 1.2 or JSON that takes so much of all of them together; JSON, which is cheap to parse, is
 * bounded in bytes and depth alone. It throws an Error that says what is wrong with a text, and YamlLimitError for one beyond the limits.
 */
export function createYamlReader(limits: YamlLimits, options: Options = {}): (text: string) => unknown {
  const left = { ...limits };
  return (text) => {
    const bytes = Buffer.byteLength(text);
    const json = bytes > left.bytes ? undefined : parseJson(text);
    const tokens = json === undefined ? checkSize(text, left) : 0;
    left.bytes -= bytes;
    left.tokens -= tokens;
    if (json !== undefined) {
      checkDepth(json.content);
      return json.content;
    }
    const document = parse(text, options);
    const [problem] = document.errors;
    if (problem !== undefined) throw problem;
    return yamlContent(document, limits);
  };
}
