/**
 * The configuration of a running kubelet, from its command line and its files. Unlike its /configz, this needs no credentials
 * and no API server. It is read again each time, because the kubelet may be restarted with another configuration.
 */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import {
  effectiveKubelet,
  type KubeletDocument,
  type KubeletFacts,
  type KubeletFlags,
} from '../../decide/machine/kubelet-config.ts';
import { mergePatch } from '../../decide/json.ts';
import { describeError, errorCodeOf, NodemaintError } from '../../errors.ts';
import { readBoundedFile } from '../files/bounded-file.ts';
import { K3S, type KubeletProcess } from './processes.ts';
import { CONFIG_LIMITS, createYamlReader } from '../files/yaml.ts';

const MAX_DROP_INS = 64;
const MAX_ENTRIES = 1000;
const RKE2_STATIC_PODS = '/var/lib/rancher/rke2/agent/pod-manifests';

const INT32 = z
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1);
const DOCUMENT = z.object({
  staticPodPath: z.string().optional(),
  staticPodURL: z.string().optional(),
  containerRuntimeEndpoint: z.string().optional(),
  fileCheckFrequency: z.string().optional(),
  healthzPort: z.int().min(0).max(65_535).optional(),
  healthzBindAddress: z.string().optional(),
  shutdownGracePeriod: z.string().optional(),
  shutdownGracePeriodCriticalPods: z.string().optional(),
  shutdownGracePeriodByPodPriority: z
    .array(z.object({ priority: INT32, shutdownGracePeriodSeconds: z.int().min(0) }))
    .optional(),
});

/** The usual static pod directory of this kind of installation, for use while no kubelet runs. */
export async function usualStaticPodPath(): Promise<string> {
  for (const directory of [RKE2_STATIC_PODS, `${K3S}/pod-manifests`]) {
    const isThere = await stat(directory)
      .then((found) => found.isDirectory())
      .catch(() => false);
    if (isThere) return directory;
  }
  return '/etc/kubernetes/manifests';
}

/** The files of a kubelet's configuration: its configuration file, where it has one, and the drop-ins in their order. */
export async function configurationFiles(flags: KubeletFlags, signal: AbortSignal): Promise<readonly string[]> {
  const configFile = flags.get('config') ?? '';
  return [...(configFile === '' ? [] : [configFile]), ...(await listDropIns(flags.get('config-dir'), signal))];
}

/**
 * Reads the effective configuration of a running kubelet.
 *
 * @throws NodemaintError CONFIG_INVALID if one of its files cannot be read or is no KubeletConfiguration.
 */
export async function readKubelet(
  { pid, flags, isK3s }: Pick<KubeletProcess, 'pid' | 'flags' | 'isK3s'>,
  signal: AbortSignal,
): Promise<KubeletFacts> {
  const configFile = flags.get('config');
  const all = await configurationFiles(flags, signal);
  let merged: unknown = {};
  // One parser for all files, so that its limits hold for a folder with many files too.
  const parse = createYamlReader(CONFIG_LIMITS, { uniqueKeys: false });
  for (const file of all) {
    signal.throwIfAborted();
    const content = await readConfigFile(file, parse);
    merged = file === configFile ? content : mergePatch(merged, content);
  }
  const document = parseFields(merged, configFile ?? flags.get('config-dir') ?? 'the kubelet');
  const facts = effectiveKubelet(pid, flags, document);
  if (facts.staticPodPath === undefined) return isK3s ? { ...facts, staticPodPath: `${K3S}/pod-manifests` } : facts;
  // The kubelet resolves relative paths in its file from the folder of the file.
  return { ...facts, staticPodPath: path.resolve(path.dirname(configFile ?? '/'), facts.staticPodPath) };
}

/** The *.conf files of a drop-in directory and of the folders in it, in the order of Go's filepath.WalkDir. */
async function listDropIns(directory: string | undefined, signal: AbortSignal): Promise<readonly string[]> {
  if (directory === undefined || directory === '') return [];
  const files: string[] = [];
  let seen = 0;
  const walk = async (folder: string): Promise<void> => {
    signal.throwIfAborted();
    const entries = await readdir(folder, { withFileTypes: true });
    seen += entries.length;
    if (seen > MAX_ENTRIES) throw new Error(`more than ${MAX_ENTRIES} files and folders`);
    for (const entry of entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory()) await walk(file);
      else if (entry.name.endsWith('.conf')) files.push(file);
      if (files.length > MAX_DROP_INS) throw new Error(`more than ${MAX_DROP_INS} drop-ins`);
    }
  };
  try {
    await walk(directory);
  } catch (error) {
    signal.throwIfAborted();
    if (errorCodeOf(error) === 'ENOENT') return [];
    throw unreadable(directory, error);
  }
  return files;
}

async function readConfigFile(file: string, parse: (text: string) => unknown): Promise<unknown> {
  try {
    const content = parse(await readBoundedFile(file, CONFIG_LIMITS.bytes));
    if (z.object({ kind: z.literal('KubeletConfiguration') }).safeParse(content).success) return content;
  } catch (error) {
    throw unreadable(file, error);
  }
  throw unreadable(file, 'it is no KubeletConfiguration');
}

function parseFields(merged: unknown, where: string): KubeletDocument {
  const parsed = DOCUMENT.safeParse(merged);
  if (parsed.success) return parsed.data;
  throw unreadable(where, z.prettifyError(parsed.error));
}

function unreadable(file: string, cause: unknown): NodemaintError {
  const why = typeof cause === 'string' ? cause : describeError(cause);
  const fix = 'correct it, or set the key "staticPodPath" of the agent to the directory of the static pods';
  return new NodemaintError('CONFIG_INVALID', `cannot use the kubelet's configuration ${file}: ${why}; ${fix}`, {
    cause,
  });
}
