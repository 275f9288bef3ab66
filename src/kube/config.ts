import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { describeError, NodemaintError } from '../errors.ts';

/** Where the API server is and how to prove who we are; options are read anew for each request, so that they rotate. */
export interface ClusterAccess {
  readonly server: URL;
  /** The NAME of an identity system:node:NAME in the client certificate; absent for every other identity. */
  readonly nodeName: string | undefined;
  /** Adds certificates, keys, tokens and, for a proxy, an agent to the options of a request. */
  authenticate(options: RequestOptions): Promise<void>;
}

/**
 * Reads a kubeconfig (`path`), or the service account of the pod we run in (no path). Throws KUBECONFIG_INVALID, naming the file and what is wrong with it.
 */
export async function loadClusterAccess(path: string | undefined): Promise<ClusterAccess> {
  const { KubeConfig } = await import('./kubeconfig.ts');
  const config = new KubeConfig();
  const where = path ?? 'the service account of this pod';
  try {
    if (path === undefined) config.loadFromCluster();
    else {
      await readFile(path);
      config.loadFromFile(path);
    }
  } catch (error) {
    throw new NodemaintError(
      'KUBECONFIG_INVALID',
      `cannot read the kubeconfig ${where}: ${describeError(error)}; name a readable kubeconfig in the key "kubeconfig" of the configuration, or set it to "" to run without a cluster`,
      { cause: error },
    );
  }
  const server = config.getCurrentCluster()?.server;
  if (server === undefined || !URL.canParse(server)) {
    throw new NodemaintError(
      'KUBECONFIG_INVALID',
      `${where} has no current context with a cluster and its server address; set "current-context" in it`,
    );
  }
  const authenticate = async (options: RequestOptions): Promise<void> => {
    try {
      await config.applyToHTTPSOptions(options);
    } catch (error) {
      throw new NodemaintError(
        'KUBECONFIG_INVALID',
        `cannot get the credentials of ${where}: ${describeError(error)}`,
        {
          cause: error,
        },
      );
    }
    // The library caches its agent together with the first certificate; without a proxy we use our own, keyed by
    // certificate, so that a rotated one is taken up.
    if (config.getCurrentCluster()?.proxyUrl === undefined) delete options.agent;
  };
  const options: RequestOptions = {};
  await authenticate(options);
  return { server: new URL(server), nodeName: nodeNameOf(options), authenticate };
}

/** Reads NAME out of a certificate for system:node:NAME. */
function nodeNameOf(options: RequestOptions): string | undefined {
  if (!Buffer.isBuffer(options.cert)) return undefined;
  const { subject } = new X509Certificate(options.cert);
  return /^CN=system:node:(.+)$/m.exec(subject)?.[1];
}
