/** The files of a configuration: the main one, and the drop-ins that change keys of it. */
import { LineCounter, isMap, isScalar, isSeq, type Node } from 'yaml';
import { CONFIG_API_VERSION } from '../api/names.ts';
import { mergePatch } from '../decide/merge-patch.ts';
import { describeError, errorCodeOf, NodemaintError } from '../errors.ts';
import { composeYaml, CONFIG_LIMITS, createYamlReader } from '../host/files/yaml.ts';

/** One file of a configuration. */
export interface ConfigLayer {
  readonly file: string;
  readonly text: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** The keys, and the positions in lists, that lead to a value. */
export type ConfigPath = readonly PropertyKey[];

const KIND = 'AgentConfiguration';
const HEAD = `begin it with "apiVersion: ${CONFIG_API_VERSION}" and "kind: ${KIND}"`;

function invalid(message: string, cause?: unknown): NodemaintError {
  return new NodemaintError('CONFIG_INVALID', message, cause === undefined ? {} : { cause });
}

/** Why the file is no configuration of the agent, as the end of a sentence. */
function headProblem(content: unknown): string | undefined {
  if (content === null || content === undefined) return `it is empty; ${HEAD}`;
  if (typeof content !== 'object' || Array.isArray(content)) return `it has no keys; ${HEAD}`;
  const { apiVersion, kind } = content as { apiVersion?: unknown; kind?: unknown };
  if (apiVersion === CONFIG_API_VERSION && kind === KIND) return undefined;
  if (apiVersion === undefined || kind === undefined) {
    return `it has no ${apiVersion === undefined ? 'apiVersion' : 'kind'}; ${HEAD}`;
  }
  if (kind !== KIND) return `it is a ${JSON.stringify(kind)} of ${JSON.stringify(apiVersion)}, not an ${KIND}`;
  return `this version of the program does not know the apiVersion ${JSON.stringify(apiVersion)}; ${HEAD}`;
}

/** Parses the text of one file, which is not validated beyond apiVersion and kind. Throws CONFIG_INVALID. */
export function parseLayer(text: string, file: string): ConfigLayer {
  let content: unknown;
  try {
    content = createYamlReader(CONFIG_LIMITS, { prettyErrors: true })(text);
  } catch (error) {
    const several = 'it has several YAML documents; leave one, and put the others into drop-ins';
    const why = errorCodeOf(error) === 'MULTIPLE_DOCS' ? several : describeError(error);
    throw invalid(`${file} is not valid YAML: ${why}`, error);
  }
  const problem = headProblem(content);
  if (problem !== undefined) throw invalid(`${file} is not a configuration of the agent: ${problem}`);
  return { file, text, content: content as ConfigLayer['content'] };
}

/** The content of all files together. A later file wins: maps are merged, lists replaced, and null takes a key away. */
export function mergeLayers([main, ...dropIns]: readonly ConfigLayer[]): unknown {
  return dropIns.reduce<unknown>((merged, { content }) => mergePatch(merged, content), main?.content);
}

/** The value at a path; undefined where there is none. */
export function valueAt(content: unknown, path: ConfigPath): unknown {
  return path.reduce<unknown>((value, key) => {
    const isOwn = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    return isOwn ? (value as Record<PropertyKey, unknown>)[key] : undefined;
  }, content);
}

/** The last file that has a value at the path. */
export function layerOf(layers: readonly ConfigLayer[], path: ConfigPath): ConfigLayer | undefined {
  return layers.findLast(({ content }) => valueAt(content, path) !== undefined);
}

/** Where a file has the value: FILE:LINE; of a path that it has in part only, the line of the part that it has. */
export function placeOf({ file, text }: ConfigLayer, path: ConfigPath): string {
  const lineCounter = new LineCounter();
  const document = composeYaml(text, CONFIG_LIMITS, { lineCounter });
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => (isScalar(item.key) ? item.key.value : item.key) === key);
      offset = (pair?.key as Node | undefined)?.range?.[0] ?? offset;
      node = pair?.value;
    } else if (isSeq(node)) {
      node = node.items[Number(key)];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
    }
  }
  return offset === undefined ? file : `${file}:${lineCounter.linePos(offset).line}`;
}
