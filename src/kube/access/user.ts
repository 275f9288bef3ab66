import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { describeError, NodemaintError } from '../../errors.ts';
import type { ClusterAccess } from './cluster.ts';
import { KubeConfig } from './library.ts';

/** The flags by which a person names a cluster, as kubectl has them. */
export interface UserAccessFlags {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** The user, and the groups, to act as; the API server asks whether the person may. */
  readonly as?: string | undefined;
  readonly asGroup?: readonly string[] | undefined;
}

/** A person's way to the API server. */
export interface UserAccess extends ClusterAccess {
  readonly server: URL;
  /** The namespace of the context; `default` where it has none. */
  readonly namespace: string;
}

const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** Where kubectl looks for kubeconfigs: the flag, else $KUBECONFIG, else ~/.kube/config; only those that are there. */
function kubeconfigFiles(flag: string | undefined): readonly string[] {
  if (flag !== undefined) return [flag];
  const listed = (process.env['KUBECONFIG'] ?? '').split(path.delimiter).filter((file) => file !== '');
  return (listed.length > 0 ? listed : [path.join(homedir(), '.kube', 'config')]).filter((file) => existsSync(file));
}

/** Reads the files as one; as in kubectl, the first that names something wins. */
async function readKubeconfigs(files: readonly string[]): Promise<KubeConfig> {
  const merged = new KubeConfig();
  for (const file of files) {
    const config = new KubeConfig();
    try {
      config.loadFromString(await readFile(file, 'utf8'));
      config.makePathsAbsolute(path.dirname(path.resolve(file)));
    } catch (error) {
      const message = `cannot read the kubeconfig ${file}: ${describeError(error)}; name another one with --kubeconfig`;
      const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      throw new NodemaintError(missing ? 'USAGE' : 'KUBECONFIG_INVALID', message, { cause: error });
    }
    for (const cluster of config.getClusters())
      if (merged.getCluster(cluster.name) === null) merged.addCluster(cluster);
    for (const user of config.getUsers()) if (merged.getUser(user.name) === null) merged.addUser(user);
    for (const each of config.getContexts()) if (merged.getContextObject(each.name) === null) merged.addContext(each);
    const current = (merged.getCurrentContext() as string | undefined) ?? '';
    if (current === '') merged.setCurrentContext(config.getCurrentContext());
  }
  return merged;
}

/** The headers by which the API server takes a request for one of another user. Throws USAGE. */
function impersonation({ as, asGroup = [] }: UserAccessFlags): Record<string, string | string[]> {
  if (as === undefined) {
    if (asGroup.length > 0) throw new NodemaintError('USAGE', '--as-group needs --as');
    return {};
  }
  return { 'Impersonate-User': as, ...(asGroup.length === 0 ? {} : { 'Impersonate-Group': [...asGroup] }) };
}

/** Credentials that are read or made again for each request; throws KUBECONFIG_INVALID if that fails. */
function authenticator(
  config: KubeConfig,
  proxied: boolean,
  where: string,
  others: ReturnType<typeof impersonation>,
): ClusterAccess['authenticate'] {
  return async (options) => {
    try {
      await config.applyToHTTPSOptions(options);
    } catch (error) {
      const message = `cannot get the credentials of ${where}: ${describeError(error)}`;
      throw new NodemaintError('KUBECONFIG_INVALID', message, { cause: error });
    }
    const own = options.headers as Record<string, string> | undefined;
    options.headers = { ...own, ...others };
    // The library caches its agent together with the first certificate; without a proxy we use our own.
    if (!proxied) delete options.agent;
  };
}

/**
 * Finds a person's cluster as kubectl does: --kubeconfig, else the files of $KUBECONFIG, else ~/.kube/config, else the
 * service account of the pod we run in. Throws USAGE where there is none, or not the file or context that was named;
 * KUBECONFIG_INVALID, naming the file, where it cannot be used.
 */
export async function loadUserAccess(flags: UserAccessFlags): Promise<UserAccess> {
  const files = kubeconfigFiles(flags.kubeconfig);
  const inCluster = files.length === 0 && existsSync(SERVICE_ACCOUNT_TOKEN);
  if (files.length === 0 && !inCluster) {
    const places = 'neither $KUBECONFIG nor ~/.kube/config is one, and this is no pod with a service account';
    throw new NodemaintError('USAGE', `no kubeconfig: ${places}; name one with --kubeconfig`);
  }
  const config = await readKubeconfigs(files);
  if (inCluster) config.loadFromCluster();
  const where = inCluster ? 'the service account of this pod' : `the kubeconfig ${files.join(', ')}`;
  const names = config.getContexts().map(({ name }) => name);
  if (flags.context !== undefined) {
    if (!names.includes(flags.context)) {
      const others = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`;
      throw new NodemaintError('USAGE', `context "${flags.context}" does not exist in ${where}; ${others}`);
    }
    config.setCurrentContext(flags.context);
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null || !URL.canParse(cluster.server)) {
    const fix = 'set "current-context" in it, or name one with --context';
    throw new NodemaintError('KUBECONFIG_INVALID', `${where} has no current context with a cluster; ${fix}`);
  }
  const server = new URL(cluster.server);
  if (server.protocol !== 'https:') {
    throw new NodemaintError('KUBECONFIG_INVALID', `${where}: the server ${cluster.server} is not reached by https`);
  }
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace ?? '';
  return {
    server,
    namespace: namespace === '' ? 'default' : namespace,
    authenticate: authenticator(config, cluster.proxyUrl !== undefined, where, impersonation(flags)),
  };
}
