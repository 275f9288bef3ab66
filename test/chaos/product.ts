import path from 'node:path';
import type * as Load from '../../src/config/load.ts';
import type * as Start from '../../src/agent/start.ts';

/** The sources of the product that a history is played against; what judges the history is always from this checkout. */
export interface Product {
  /** The program of the controller. */
  readonly main: string;
  readonly runAgent: typeof Start.runAgent;
  readonly loadAgentConfig: typeof Load.loadAgentConfig;
}

/** The sources of this checkout. */
export const CHECKOUT = path.join(import.meta.dirname, '..', '..');

/** Loads the product from a checkout, or from a copy of one. */
export async function loadProduct(root: string): Promise<Product> {
  const start = (await import(path.join(root, 'src/agent/start.ts'))) as typeof Start;
  const load = (await import(path.join(root, 'src/config/load.ts'))) as typeof Load;
  return { main: path.join(root, 'src/main.ts'), runAgent: start.runAgent, loadAgentConfig: load.loadAgentConfig };
}
