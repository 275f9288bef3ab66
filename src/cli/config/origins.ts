/** Where the values of the configuration come from. */
import { Document, isMap, isScalar } from 'yaml';
import { type ConfigLayer, layerOf, placeOf, valueAt } from '../../config/layers.ts';
import type { AgentConfig } from '../../config/schema.ts';

/** Keys that the agent looks up on the machine if no file has them. */
const FOUND = new Set(['staticPodPath', 'parkedPath']);

/** The origin of each value: FILE:LINE, "default", or "found on this machine"; keys of `cloud` as `cloud.KEY`. */
export function originsOf(config: AgentConfig, layers: readonly ConfigLayer[]): ReadonlyMap<string, string> {
  const paths = Object.entries(config).flatMap(([key, value]): readonly (readonly string[])[] =>
    key === 'cloud' ? Object.keys(value as object).map((inner) => [key, inner]) : [[key]],
  );
  return new Map(
    paths.map((path) => {
      const layer = layerOf(layers, path);
      const isUsed = layer !== undefined && (!FOUND.has(path.join('.')) || isSame(config, layer, path));
      if (isUsed) return [path.join('.'), placeOf(layer, path)];
      return [path.join('.'), FOUND.has(path.join('.')) ? 'found on this machine' : 'default'];
    }),
  );
}

/** Whether the value in use is the one of the file: a configured directory may be replaced by the one in use. */
function isSame(config: AgentConfig, layer: ConfigLayer, path: readonly string[]): boolean {
  return valueAt(config, path) === valueAt(layer.content, path);
}

/** The configuration as YAML, with the origin of each value as a comment. */
export function withOrigins(config: AgentConfig, origins: ReadonlyMap<string, string>): string {
  const document = new Document(config);
  const comment = (map: unknown, prefix: string): void => {
    if (!isMap(map)) return;
    for (const { key, value } of map.items) {
      const name = `${prefix}${isScalar(key) ? String(key.value) : ''}`;
      const origin = origins.get(name);
      if (origin === undefined) comment(value, `${name}.`);
      else if (isScalar(value)) value.comment = ` ${origin}`;
      else if (isScalar(key)) key.commentBefore = ` ${origin}`;
    }
  };
  comment(document.contents, '');
  return document.toString();
}
