/**
 * The layers of src, from the top down. A file may import from its own layer and from layers below it. Parts that share
 * a layer may import each other only in `EFFECTS` and `RULES`; the agent and the controller may not.
 */
interface Layer {
  readonly parts: readonly string[];
  /** Whether parts of this layer may import each other. */
  readonly joined: boolean;
}

const LAYERS: readonly Layer[] = [
  { parts: ['main.ts', 'interceptor.ts'], joined: false },
  { parts: ['cli'], joined: true },
  { parts: ['agent', 'controller'], joined: false },
  { parts: ['kube', 'static-pods', 'cloud', 'host', 'telemetry', 'config'], joined: true },
  { parts: ['show'], joined: true },
  { parts: ['decide'], joined: true },
  { parts: ['api', 'errors.ts', 'printable.ts', 'version.ts'], joined: true },
];

/** Whether a file of src imports from a layer above it, or from a part beside it that it must not know. Paths from src. */
export function isUpward(from: string, to: string): boolean {
  const [source, target] = [rankOf(from), rankOf(to)];
  if (source !== target) return target < source;
  return partOf(from) !== partOf(to) && LAYERS[source]?.joined === false;
}

function partOf(file: string): string {
  return file.split('/')[0] ?? '';
}

function rankOf(file: string): number {
  const rank = LAYERS.findIndex(({ parts }) => parts.includes(partOf(file)));
  if (rank === -1) throw new Error(`src/${partOf(file)} has no layer: add it to test/structure/layers.ts`);
  return rank;
}
