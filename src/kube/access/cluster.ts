import { X509Certificate } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import { describeError, NodemaintError } from '../../errors.ts';
import { readBoundedFile } from '../../host/files/bounded-file.ts';
import { MAX_KUBECONFIG_BYTES, type PlainKubeconfig, parsePlainKubeconfig } from './plain-kubeconfig.ts';

/** Where the API server is and how to prove who we are; options are read again for each request, so that they rotate. */
export interface ClusterAccess {
  readonly server: URL;
  /** The NAME of an identity system:node:NAME in the client certificate; absent for every other identity. */
  readonly nodeName: string | undefined;
  /** Adds certificates, keys, tokens and, for a proxy, an agent to the options of a request. */
  authenticate(options: RequestOptions): Promise<void>;
}

/** What the client library makes of a kubeconfig of any kind, or of the service account of the pod we run in. */
async function loadByLibrary(path: string | undefined): Promise<PlainKubeconfig | undefined> {
  const { KubeConfig } = await import('./library.ts');
  const config = new KubeConfig();
  if (path === undefined) config.loadFromCluster();
  else config.loadFromFile(path);
  const cluster = config.getCurrentCluster();
  if (cluster === null || !URL.canParse(cluster.server)) return undefined;
  return {
    server: cluster.server,
    authenticate: async (options) => {
      await config.applyToHTTPSOptions(options);
      // The library caches its agent together with the first certificate; without a proxy we use our own, keyed by
      // certificate, so that a rotated one is taken up.
      if (cluster.proxyUrl === undefined) delete options.agent;
    },
  };
}

/** Reads NAME out of a certificate for system:node:NAME. */
function nodeNameOf(options: RequestOptions): string | undefined {
  if (!Buffer.isBuffer(options.cert)) return undefined;
  const { subject } = new X509Certificate(options.cert);
  return /^CN=system:node:(.+)$/m.exec(subject)?.[1];
}

/**
 * Reads a kubeconfig (`path`), or the service account of the pod we run in (no path). Throws KUBECONFIG_INVALID, naming
 * the file, what is wrong with it and the fix.
 */
export async function loadClusterAccess(path: string | undefined): Promise<ClusterAccess> {
  const where = path ?? 'the service account of this pod';
  let found: PlainKubeconfig | undefined;
  try {
    if (path !== undefined) found = parsePlainKubeconfig(await readBoundedFile(path, MAX_KUBECONFIG_BYTES), path);
    found ??= await loadByLibrary(path);
  } catch (error) {
    throw new NodemaintError(
      'KUBECONFIG_INVALID',
      `cannot read the kubeconfig ${where}: ${describeError(error)}; name a readable kubeconfig in the key "kubeconfig" of the configuration, or set it to "" to run without a cluster`,
      { cause: error },
    );
  }
  if (found === undefined && path === undefined) {
    throw new NodemaintError(
      'KUBECONFIG_INVALID',
      'this is no pod with a service account; name a kubeconfig with --kubeconfig',
    );
  }
  if (found === undefined) {
    throw new NodemaintError(
      'KUBECONFIG_INVALID',
      `${where} has no current context with a cluster and its server address; set "current-context" in it`,
    );
  }
  const credentials = found;
  const access = async (options: RequestOptions): Promise<void> => {
    try {
      await credentials.authenticate(options);
    } catch (error) {
      const message = `cannot get the credentials of ${where}: ${describeError(error)}`;
      throw new NodemaintError('KUBECONFIG_INVALID', message, { cause: error });
    }
  };
  const options: RequestOptions = {};
  await access(options);
  return { server: new URL(credentials.server), nodeName: nodeNameOf(options), authenticate: access };
}
