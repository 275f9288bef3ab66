/**
 * The configuration of the kubelet that runs on this machine, read from its command line and its files: no credentials
 * and no API server are needed, unlike for its /configz. Nothing is remembered: the kubelet may be restarted with another.
 */
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import path from 'node:path';
import { parseDocument } from 'yaml';
import * as z from 'zod';
import {
  chooseKubelet,
  effectiveKubelet,
  type KubeletDocument,
  type KubeletFacts,
  type KubeletFlags,
  type KubeletScope,
  mergeKubeletConfig,
  parseKubeletFlags,
} from '../decide/kubelet-config.ts';
import { describeError, NodemaintError } from '../errors.ts';

const MAX_CONFIG_BYTES = 1024 * 1024;
const MAX_DROP_INS = 1000;
const K3S = '/var/lib/rancher/k3s/agent';
const RKE2_STATIC_PODS = '/var/lib/rancher/rke2/agent/pod-manifests';

/** What k3s, which has its kubelet inside of itself, gives it. */
const K3S_FLAGS: KubeletFlags = new Map([
  ['config-dir', `${K3S}/etc/kubelet.conf.d`],
  ['kubeconfig', `${K3S}/kubelet.kubeconfig`],
]);

const INT32 = z
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1);
const DOCUMENT = z.object({
  staticPodPath: z.string().optional(),
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

/** A process that is, or has in it, a kubelet. */
export interface KubeletProcess {
  readonly pid: number;
  readonly flags: KubeletFlags;
  readonly isK3s: boolean;
}

/**
 * The effective configuration of this machine's kubelet; undefined while none runs, and where several run and none is
 * this node's.
 *
 * @throws NodemaintError CONFIG_INVALID if one of its files cannot be read or is no KubeletConfiguration.
 */
export async function readKubeletConfig(signal: AbortSignal): Promise<KubeletFacts | undefined> {
  return await findKubelet({}, signal);
}

/** The same where several kubelets may be seen: that of `scope`. */
export async function findKubelet(scope: KubeletScope, signal: AbortSignal): Promise<KubeletFacts | undefined> {
  const found = await findKubeletProcess(scope, signal);
  return found === undefined ? undefined : await readKubelet(found, signal);
}

/** The process of that kubelet; its files are not read. */
export async function findKubeletProcess(
  scope: KubeletScope,
  signal: AbortSignal,
): Promise<KubeletProcess | undefined> {
  const processes = await listKubelets('/proc', signal);
  // Files are read for the one that counts only: a stranger's may be broken.
  const bare = processes.map(({ pid, flags }) => effectiveKubelet(pid, flags, {}));
  const chosen = chooseKubelet(bare, scope);
  return processes.find(({ pid }) => pid === chosen?.pid);
}

/** Where the kubelet of this kind of installation has its static pods while none runs to be asked. */
export async function usualStaticPodPath(): Promise<string> {
  for (const directory of [RKE2_STATIC_PODS, `${K3S}/pod-manifests`]) {
    const isThere = await stat(directory)
      .then((found) => found.isDirectory())
      .catch(() => false);
    if (isThere) return directory;
  }
  return '/etc/kubernetes/manifests';
}

async function listKubelets(proc: string, signal: AbortSignal): Promise<readonly KubeletProcess[]> {
  const found: KubeletProcess[] = [];
  for (const name of await readdir(proc)) {
    signal.throwIfAborted();
    if (!/^\d+$/.test(name)) continue;
    // A process that has ended meanwhile is none.
    const text = await readFile(path.join(proc, name, 'cmdline'), 'utf8').catch(() => '');
    const argv = text.split('\0').slice(0, -1);
    const kubelet = await kubeletOf(Number(name), argv, path.join(proc, name, 'cwd'));
    if (kubelet !== undefined) found.push(kubelet);
  }
  return found;
}

async function kubeletOf(pid: number, argv: readonly string[], cwdLink: string): Promise<KubeletProcess | undefined> {
  // k3s shows its command line as one word.
  const [program = '', verb = ''] = (argv[0] ?? '').split(' ').concat(argv.slice(1));
  const base = path.basename(program);
  if (base === 'k3s' && (verb === 'server' || verb === 'agent')) return { pid, flags: K3S_FLAGS, isK3s: true };
  const isHyperkube = base === 'hyperkube' && verb === 'kubelet';
  if (base !== 'kubelet' && !isHyperkube) return undefined;
  const flags = new Map(parseKubeletFlags(argv));
  const cwd = await readlink(cwdLink).catch(() => '/');
  for (const name of ['config', 'config-dir', 'kubeconfig', 'pod-manifest-path']) {
    const value = flags.get(name);
    if (value !== undefined && value !== '') flags.set(name, path.resolve(cwd, value));
  }
  return { pid, flags, isK3s: false };
}

async function readKubelet({ pid, flags, isK3s }: KubeletProcess, signal: AbortSignal): Promise<KubeletFacts> {
  const configFile = flags.get('config');
  let merged: unknown = {};
  if (configFile !== undefined && configFile !== '') merged = await readConfigFile(configFile);
  for (const file of await listDropIns(flags.get('config-dir'))) {
    signal.throwIfAborted();
    merged = mergeKubeletConfig(merged, await readConfigFile(file));
  }
  const document = parseFields(merged, configFile ?? flags.get('config-dir') ?? 'the kubelet');
  const facts = effectiveKubelet(pid, flags, document);
  if (facts.staticPodPath === undefined) return isK3s ? { ...facts, staticPodPath: `${K3S}/pod-manifests` } : facts;
  // The kubelet takes relative paths in its file from the file's folder.
  return { ...facts, staticPodPath: path.resolve(path.dirname(configFile ?? '/'), facts.staticPodPath) };
}

/** The *.conf files of a drop-in directory and the folders in it, in the order in which Go's filepath.WalkDir visits. */
async function listDropIns(directory: string | undefined): Promise<readonly string[]> {
  if (directory === undefined || directory === '') return [];
  const files: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))) {
      const place = path.join(folder, entry.name);
      if (entry.isDirectory()) await walk(place);
      else if (entry.name.endsWith('.conf')) files.push(place);
      if (files.length > MAX_DROP_INS) throw unreadable(directory, `more than ${MAX_DROP_INS} files`);
    }
  };
  try {
    await walk(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw unreadable(directory, error);
  }
  return files;
}

async function readConfigFile(file: string): Promise<unknown> {
  try {
    const { size } = await stat(file);
    if (size > MAX_CONFIG_BYTES) throw new Error(`larger than ${MAX_CONFIG_BYTES / 1024} KiB`);
    const document = parseDocument(await readFile(file, 'utf8'), { prettyErrors: false, logLevel: 'error' });
    const [problem] = document.errors;
    if (problem !== undefined) throw problem;
    const content: unknown = document.toJS({ maxAliasCount: 20 });
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
