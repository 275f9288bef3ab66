/**
 * Parses YAML from untrusted sources. A short hostile text can take the parser very much time and memory, so texts are limited
 * in bytes, in tokens (which are cheap to count before parsing), in aliases and in depth. A text of 128 KiB within these limits
 * takes less than a second.
 */
import { type Document, type DocumentOptions, Lexer, parseDocument, type ParseOptions, type SchemaOptions } from 'yaml';

/** Texts beyond these limits are refused. */
export interface YamlLimits {
  readonly bytes: number;
  /** Scalars, punctuation, line ends and blanks; a line `key: value` has about six tokens. */
  readonly tokens: number;
  readonly aliases: number;
}

/** A text is beyond the limits. */
export class YamlLimitError extends Error {}

type Options = ParseOptions & DocumentOptions & SchemaOptions;

const KIBIBYTE = 1024;
const MAX_DEPTH = 100;

/** For configurations and kubeconfigs; real ones have some hundred lines. */
export const CONFIG_LIMITS: YamlLimits = { bytes: 128 * KIBIBYTE, tokens: 16_000, aliases: 20 };

/** Returns the number of tokens. Throws YamlLimitError. */
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
    // The parser is recursive and runs out of stack in a text with thousands of levels.
    throw error instanceof RangeError ? new YamlLimitError('nested too deep', { cause: error }) : error;
  }
}

/** Parses one document; syntax errors are in its `errors`. Throws YamlLimitError. */
export function composeYaml(text: string, limits: YamlLimits, options: Options = {}): Document {
  checkSize(text, limits);
  return parse(text, options);
}

/** Throws YamlLimitError for data nested so deep that recursive code could run out of stack. */
function checkDepth(content: unknown): void {
  let level: readonly unknown[] = [content];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw new YamlLimitError(`nested more than ${MAX_DEPTH} deep`);
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  }
}

/** The data of a document. Throws an Error if it has too many aliases or is nested too deep. */
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
 * Creates a parser for YAML 1.2 and JSON whose limits apply to all of its texts together. JSON is cheap to parse, so only its
 * bytes and depth are limited. The parser throws an Error that describes the syntax error, or YamlLimitError.
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
