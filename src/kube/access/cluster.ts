import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import { describeError, NodemaintError } from '../../errors.ts';
import { readChangedFile } from '../../host/files/bounded-file.ts';
import { type Credentials, MAX_KUBECONFIG_BYTES, parsePlainKubeconfig } from './plain-kubeconfig.ts';

/** Where the API server is and how to prove who we are; both are read again for each request, so that they rotate. */
export interface ClusterAccess {
  /** The API server's address, as it was read last; undefined while none could be read. */
  readonly server: URL | undefined;
  /** Adds certificates, keys, tokens and, for a proxy, an agent to the options of a request. Throws KUBECONFIG_INVALID. */
  authenticate(options: RequestOptions): Promise<void>;
  /** Hashes of the certificates of the cluster's authority, as they were read last; undefined where it has none of its own. */
  authorities?(): readonly string[] | undefined;
  /** Told that the API server has refused what a request was given (401): what a program gave is not used again. */
  refused?(): void;
}

/** What the client library makes of a kubeconfig of any kind, or of the service account of the pod we run in. */
async function loadByLibrary(path: string | undefined): Promise<Credentials | undefined> {
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

/** The credentials of a kubeconfig (`path`), or of the service account of the pod we run in (no path). */
class KubeconfigAccess implements ClusterAccess {
  readonly #path: string | undefined;
  /** What was read last; a file that is away meanwhile, or is just being written, changes nothing. */
  #read: Credentials | undefined;
  #version: string | undefined;
  #authority: RequestOptions['ca'];

  constructor(path: string | undefined) {
    this.#path = path;
  }

  get server(): URL | undefined {
    return this.#read && new URL(this.#read.server);
  }

  async authenticate(options: RequestOptions): Promise<void> {
    const credentials = await this.#credentials();
    try {
      await credentials.authenticate(options);
      this.#authority = options.ca;
    } catch (error) {
      throw this.#invalid(`cannot get the credentials of ${this.#where()}: ${describeError(error)}`, error);
    }
  }

  authorities(): readonly string[] | undefined {
    const texts = String(this.#authority ?? '').match(/-----BEGIN CERTIFICATE-----[^-]+/g);
    return texts?.map((text) => createHash('sha256').update(text.replaceAll(/\s/g, '')).digest('hex').slice(0, 16));
  }

  refused(): void {
    this.#read?.refused?.();
  }

  #where(): string {
    return this.#path ?? 'the service account of this pod';
  }

  #invalid(message: string, cause?: unknown): NodemaintError {
    return new NodemaintError('KUBECONFIG_INVALID', message, { cause });
  }

  async #load(path: string | undefined): Promise<void> {
    if (path === undefined) {
      this.#read ??= await loadByLibrary(path);
      return;
    }
    const found = await readChangedFile(path, MAX_KUBECONFIG_BYTES, this.#version);
    // Another request may have read it meanwhile.
    if (found === 'unchanged' || found.version === this.#version) return;
    const credentials = parsePlainKubeconfig(found.text, path) ?? (await loadByLibrary(path));
    if (credentials === undefined) return;
    this.#read = credentials;
    this.#version = found.version;
  }

  async #credentials(): Promise<Credentials> {
    const path = this.#path;
    try {
      await this.#load(path);
    } catch (error) {
      const fix =
        'name a readable kubeconfig in the key "kubeconfig" of the configuration, or set it to "" to run without a cluster';
      const message = `cannot read the kubeconfig ${this.#where()}: ${describeError(error)}; ${fix}`;
      if (this.#read === undefined) throw this.#invalid(message, error);
    }
    if (this.#read !== undefined) return this.#read;
    throw this.#invalid(
      path === undefined
        ? 'this is no pod with a service account; name a kubeconfig with --kubeconfig'
        : `${path} has no current context with a cluster and its server address; set "current-context" in it`,
    );
  }
}

/** Opens a kubeconfig (`path`), whatever is wrong with it: it is read for each request. */
export function openClusterAccess(path: string): ClusterAccess {
  return new KubeconfigAccess(path);
}

/**
 * Reads a kubeconfig (`path`), or the service account of the pod we run in (no path). Throws KUBECONFIG_INVALID, naming
 * the file, what is wrong with it and the fix.
 */
export async function loadClusterAccess(path: string | undefined): Promise<ClusterAccess & { readonly server: URL }> {
  const access = new KubeconfigAccess(path);
  await access.authenticate({});
  return access as KubeconfigAccess & { readonly server: URL };
}
