/**
 * Reads the static pod directory as the kubelet does. Opens only regular files, because opening a device or a pipe can have
 * effects or wait for ever.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { describeError, errorCodeOf, NodemaintError } from '../errors.ts';
import { type InvalidManifest, type Manifest, MAX_MANIFEST_BYTES, parseManifest } from './manifest/manifest.ts';

/** The content of a static pod directory. */
export interface ManifestDirectory {
  readonly manifests: readonly Manifest[];
  /** Files that are not pods; each reason begins with the full path. */
  readonly invalid: readonly InvalidManifest[];
}

/**
 * Reads every manifest in `dir`, or the only one if `dir` is a file, for the node `nodeName`. Dot files, folders, sockets,
 * dangling links and files that disappear in the meantime are skipped.
 *
 * @throws NodemaintError STATIC_POD_DIRECTORY_MISSING if `dir` is no directory, FILE_OPERATION_FAILED if it cannot be
 * listed; the signal's reason when it is aborted.
 */
export async function readManifests(dir: string, nodeName: string, signal: AbortSignal): Promise<ManifestDirectory> {
  const manifests: Manifest[] = [];
  const invalid: InvalidManifest[] = [];
  const isFile = await isRegularFile(dir);
  const folder = isFile ? path.dirname(dir) : dir;
  for (const file of isFile ? [Buffer.from(path.basename(dir))] : await listFiles(dir)) {
    signal.throwIfAborted();
    const result = await readManifest(folder, file, nodeName);
    if (result === undefined) continue;
    if (result.kind === 'pod') manifests.push(result);
    else invalid.push({ ...result, reason: `${path.join(folder, path.sep)}${result.reason}` });
  }
  signal.throwIfAborted();
  return { manifests, invalid };
}

async function isRegularFile(file: string): Promise<boolean> {
  try {
    return (await stat(file)).isFile();
  } catch {
    // The error is reported when the directory is listed.
    return false;
  }
}

/** Lists the names that do not begin with a dot, sorted. Names are bytes, because they may not be UTF-8. */
async function listFiles(dir: string): Promise<readonly Buffer[]> {
  try {
    const names = await readdir(dir, { encoding: 'buffer' });
    return names.filter((name) => name[0] !== 0x2e).sort((a, b) => a.compare(b));
  } catch (error) {
    throw directoryError(dir, error);
  }
}

function directoryError(dir: string, cause: unknown): NodemaintError {
  const code = errorCodeOf(cause);
  if (code !== 'ENOENT' && code !== 'ENOTDIR') {
    return new NodemaintError('FILE_OPERATION_FAILED', `cannot list the static pod directory ${dir}`, { cause });
  }
  const wrong = code === 'ENOENT' ? 'does not exist: create it' : 'is neither a directory nor a file: make it one';
  const fix = "or set the agent's static pod directory to the kubelet's staticPodPath";
  return new NodemaintError('STATIC_POD_DIRECTORY_MISSING', `the static pod directory ${dir} ${wrong}, ${fix}`, {
    cause,
  });
}

async function readManifest(
  dir: string,
  rawName: Buffer,
  nodeName: string,
): Promise<Manifest | InvalidManifest | undefined> {
  const name = rawName.toString('utf8');
  const file = Buffer.concat([Buffer.from(path.join(dir, path.sep)), rawName]);
  try {
    const bytes = await readRegularFile(file);
    if (bytes === undefined) return undefined;
    if (!Buffer.from(name).equals(rawName)) {
      return { kind: 'invalid', file: name, reason: `${name}: the file's name is not UTF-8; rename it` };
    }
    return parseManifest({ name, bytes }, nodeName);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    return { kind: 'invalid', file: name, reason: `${name}: cannot be read: ${describeError(error)}` };
  }
}

/** Reads a regular file, at most `MAX_MANIFEST_BYTES`; undefined if it is not a regular file. */
async function readRegularFile(path: Buffer): Promise<Buffer | undefined> {
  if (!(await stat(path)).isFile()) return undefined;
  // O_NONBLOCK: the file may have been replaced by a pipe since the check.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (!(await file.stat()).isFile()) return undefined;
  return await readBounded(file, MAX_MANIFEST_BYTES);
}

async function readBounded(file: FileHandle, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let size = 0; size < limit; ) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(64 * 1024, limit - size)));
    if (bytesRead === 0) break;
    chunks.push(buffer.subarray(0, bytesRead));
    size += bytesRead;
  }
  return Buffer.concat(chunks);
}
