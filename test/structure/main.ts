/**
 * `npm run structure [-- CHECKOUT] [-- -o json]`: measures how the source is built: folders, circles, layers, long
 * functions, the agent's context, and what no unit test imports. CHECKOUT is a folder with a checkout of this project,
 * this one by default, so that an older commit can be measured in the same way.
 */
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { measureStructure } from './measure.ts';
import { structureTable } from './table.ts';

const { values, positionals } = parseArgs({
  options: { output: { type: 'string', short: 'o' } },
  allowPositionals: true,
});
const root = path.resolve(positionals[0] ?? path.join(import.meta.dirname, '..', '..'));
const structure = await measureStructure(root);
process.stdout.write(
  values.output === 'json' ? `${JSON.stringify(structure, undefined, 2)}\n` : structureTable(structure),
);
