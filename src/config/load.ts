import { open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describeError, errorCodeOf, NodemaintError } from '../errors.ts';
import { type ConfigLayer, mergeLayers, parseLayer } from './layers.ts';
import { describeProblems } from './problems.ts';
import { type AgentConfig, agentConfigSchema } from './schema.ts';

/** The folder of drop-ins, beside the configuration file. */
export const DROP_INS = 'config.d';
const MAX_DROP_INS = 100;
const MAX_BYTES = 1024 * 1024;

/** Validates the files of a configuration, the main one first. Throws CONFIG_INVALID, with the place of each bad value. */
export function configOfLayers(layers: readonly ConfigLayer[]): AgentConfig {
  const content = mergeLayers(layers);
  const result = agentConfigSchema.safeParse(content);
  if (result.success) return Object.freeze(result.data);
  const details = describeProblems(result.error.issues, agentConfigSchema, content, layers);
  throw new NodemaintError('CONFIG_INVALID', `${layers[0]?.file} is not a valid configuration:\n${details}`);
}

/** Throws if another user than root, or the user of this process, can write to what these facts are of. */
function assertOwn({ uid, mode }: { readonly uid: number; readonly mode: number }): void {
  if (uid !== 0 && uid !== process.geteuid?.()) throw new Error(`it belongs to the user ${uid}, not to root`);
  if ((mode & 0o022) !== 0) throw new Error('its group or everybody may write to it');
}

/** Reads a file; throws if another user than root, or the user of this process, could have written it. */
async function readOwn(file: string): Promise<string> {
  await using handle = await open(file, 'r');
  // The open file is checked, so it cannot be replaced between the check and the reading.
  const stats = await handle.stat();
  assertOwn(stats);
  if (stats.size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`);
  return await handle.readFile('utf8');
}

async function readLayer(file: string): Promise<ConfigLayer> {
  let text: string;
  try {
    text = await readOwn(file);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') {
      const message = `there is no ${file}: no agent is installed on this machine, or --config names the wrong file; install the package of the release, or run its install.sh as root`;
      throw new NodemaintError('CONFIG_INVALID', message);
    }
    const fix = 'it must be a file of root with mode 0644; --config names another one';
    const message = `cannot read the configuration ${file}: ${describeError(error)}; ${fix}`;
    throw new NodemaintError('CONFIG_INVALID', message, { cause: error });
  }
  return parseLayer(text, file);
}

/** The drop-ins of a configuration file, in the order in which they apply. Throws CONFIG_INVALID. */
async function listDropIns(file: string): Promise<readonly string[]> {
  const directory = path.join(path.dirname(file), DROP_INS);
  try {
    assertOwn(await stat(directory));
    const names = (await readdir(directory)).filter((name) => name.endsWith('.yaml') && !name.startsWith('.'));
    if (names.length > MAX_DROP_INS) throw new Error(`it has more than ${MAX_DROP_INS} drop-ins`);
    return names
      .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .map((name) => path.join(directory, name));
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return [];
    const message = `cannot read the drop-ins in ${directory}: ${describeError(error)}; it must be a directory of root with mode 0755`;
    throw new NodemaintError('CONFIG_INVALID', message, { cause: error });
  }
}

/**
 * Reads the configuration file, and the drop-ins `config.d/*.yaml` beside it in the order of their names. Throws
 * CONFIG_INVALID, also if other users than root could have written one of them.
 */
export async function readConfigLayers(file: string): Promise<readonly ConfigLayer[]> {
  const layers = [await readLayer(file)];
  for (const dropIn of await listDropIns(file)) layers.push(await readLayer(dropIn));
  return layers;
}

/**
 * Reads and validates the configuration, which determines the files that root moves and the programs that it runs. Throws
 * CONFIG_INVALID, with the place, the key and the fix.
 */
export async function loadAgentConfig(file: string): Promise<AgentConfig> {
  return configOfLayers(await readConfigLayers(file));
}
