import { writeFile } from 'node:fs/promises';
import { loadAgentConfig } from '../../config/load.ts';
import { describeError, NodemaintError } from '../../errors.ts';
import { hostname } from 'node:os';
import { type AccessFlags, openUserCluster } from '../cluster/open-user-cluster.ts';
import { accessWords } from '../cluster/command-line.ts';
import { escaped } from '../../printable.ts';
import { rfc3339 } from '../../decide/time.ts';
import { EXIT } from '../terminal/exit-code.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { type ArchivedFile, packed } from './archive.ts';
import { redactedUnless } from '../secrets/redact.ts';
import { type BundlePart, PART_BYTES } from './part.ts';
import { clusterParts, nodeParts } from './sources.ts';

/** The flags of `nodemaint bundle`. */
export interface BundleFlags extends AccessFlags {
  readonly config: string;
  readonly cluster?: boolean;
  readonly output?: string;
}

/** All parts together have at most this many bytes before they are compressed. */
const BUNDLE_BYTES = 20 * 1024 * 1024;

/** The end of a text that is too long, at the beginning of a line: a line without its beginning may be half a secret. */
function lastPart(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  const end = Buffer.from(text).subarray(-bytes).toString();
  const line = end.indexOf('\n');
  return `[the beginning is left out]\n${line === -1 ? '' : end.slice(line + 1)}`;
}

/** Reads the parts one after the other; one that cannot be read has the reason in its place. */
export async function collect(parts: readonly BundlePart[], signal: AbortSignal): Promise<readonly ArchivedFile[]> {
  const files: ArchivedFile[] = [];
  let room = BUNDLE_BYTES;
  for (const { name, read } of parts) {
    signal.throwIfAborted();
    const text = await read(signal).catch((error: unknown) => {
      signal.throwIfAborted();
      return `[not read: ${describeError(error)}]\n`;
    });
    // Cut before secrets are taken out, which takes time.
    const clean = await redactedUnless(lastPart(text, PART_BYTES), signal);
    const kept = lastPart(escaped(clean), Math.min(PART_BYTES, room));
    room = Math.max(0, room - Buffer.byteLength(kept));
    files.push({ name, text: kept });
  }
  return files;
}

function contents(parts: readonly BundlePart[], now: number): string {
  const lines = parts.map(({ name, about }) => `${name.padEnd(24)} ${about}`);
  const head = `A support bundle of nodemaint, made ${rfc3339(now)}.`;
  const out = 'Tokens, passwords, keys and certificates are taken out. Names of nodes, pods and addresses are in it.';
  return `${head}\n${out}\nLook through it before you send it.\n\n${lines.join('\n')}\n`;
}

/**
 * `nodemaint bundle`: what a person needs who helps, in one archive. Returns the exit code. Throws FILE_OPERATION_FAILED where
 * the archive cannot be written, and with --cluster the errors of the kubeconfig.
 */
export async function bundleCommand(flags: BundleFlags, terminal: Terminal): Promise<number> {
  const now = terminal.now();
  const what =
    flags.cluster === true
      ? 'cluster'
      : hostname()
          .replaceAll(/[^\w.-]/g, '-')
          .slice(0, 40);
  const folder = `nodemaint-${what}-${rfc3339(now).replaceAll(/[^\dTZ]/g, '')}`;
  const target = flags.output ?? `${folder}.tar.gz`;
  const gather = async (parts: readonly BundlePart[]): Promise<readonly ArchivedFile[]> => [
    { name: 'README.txt', text: contents(parts, now) },
    ...(await collect(parts, terminal.stop)),
  ];
  let files: readonly ArchivedFile[];
  if (flags.cluster === true) {
    const { client } = await openUserCluster(flags, 'nodemaint-bundle', terminal);
    try {
      files = await gather(clusterParts(client, accessWords(flags)));
    } finally {
      client.close();
    }
  } else {
    // A configuration that is wrong is one more reason to make a bundle.
    const config = await loadAgentConfig(flags.config).catch(() => undefined);
    files = await gather(nodeParts(flags.config, config));
  }
  try {
    // Nothing is replaced, and no other user reads it.
    await writeFile(target, await packed(folder, files, now), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const message = `cannot write the bundle ${target}: ${describeError(error)}`;
    throw new NodemaintError('FILE_OPERATION_FAILED', message, { cause: error });
  }
  const missing = files.filter(({ text }) => text.startsWith('[not read:')).map(({ name }) => name);
  terminal.write(`${target}\n`);
  if (missing.length > 0)
    terminal.warn(`nodemaint: these parts could not be read, which the bundle says: ${missing.join(', ')}\n`);
  return EXIT.done;
}
