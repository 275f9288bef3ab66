/**
 * Kubeconfigs of the plain kind that kubelets have: certificates, keys or tokens in files, inline or from a program. An agent idles on
 * every node, and the client library costs it 8 MB of memory; so the library is loaded only for what is not plain
 * (OIDC, proxies, impersonation), which this parser leaves to it by answering undefined (docs/adr/0002).
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import * as z from 'zod';
import { CONFIG_LIMITS, createYamlReader, YamlLimitError } from '../../host/files/yaml.ts';

/** Certificates and keys lie in it as text, of any number of clusters. */
export const MAX_KUBECONFIG_BYTES = 512 * 1024;

const text = z.string().min(1);

/** The program in a kubeconfig that gives credentials (client.authentication.k8s.io). */
const execSchema = z.strictObject({
  apiVersion: text,
  command: text,
  args: z.array(z.string()).nullish(),
  env: z.array(z.strictObject({ name: text, value: z.string() })).nullish(),
  interactiveMode: z.string().optional(),
  installHint: z.string().optional(),
  provideClusterInfo: z.literal(false).optional(),
});

const answerSchema = z.object({
  status: z.object({
    token: text.optional(),
    clientCertificateData: text.optional(),
    clientKeyData: text.optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
  }),
});
type Given = z.infer<typeof answerSchema>['status'];

const LIMITS = { timeout: 30_000, killSignal: 'SIGKILL', maxBuffer: 1024 * 1024 } as const;
/** What is refused although it is as new as this is not asked for again: the program is not the reason. */
const NEW_MS = 10_000;

/** The credentials that a program gives, until their time is over or the API server refuses them. */
class ExecCredentials {
  readonly #exec: z.infer<typeof execSchema>;
  readonly #folder: string;
  /** What was given last, or is asked for now; several requests ask once. */
  #given: Promise<Given> | undefined;
  #askedAt = 0;

  /** `folder` is the one of the kubeconfig. */
  constructor(exec: z.infer<typeof execSchema>, folder: string) {
    this.#exec = exec;
    this.#folder = folder;
  }

  /** Adds the credentials to the options of a request. Throws what the program says. */
  async apply(options: RequestOptions): Promise<void> {
    const { token, clientCertificateData: cert, clientKeyData: key } = await this.#current();
    if (cert !== undefined) options.cert = Buffer.from(cert);
    if (key !== undefined) options.key = key;
    if (token !== undefined) options.headers = { Authorization: `Bearer ${token}` };
  }

  /** Told that the API server has refused what was given last. */
  refused(): void {
    if (performance.now() - this.#askedAt > NEW_MS) this.#given = undefined;
  }

  async #current(): Promise<Given> {
    const before = this.#given;
    const given = await before;
    if (given !== undefined && Date.parse(given.expirationTimestamp ?? '9999-12-31') > Date.now()) return given;
    if (this.#given === before) this.#given = this.#ask();
    const asked = this.#given;
    try {
      return (await asked) as Given;
    } catch (error) {
      if (this.#given === asked) this.#given = undefined;
      throw error;
    }
  }

  async #ask(): Promise<Given> {
    this.#askedAt = performance.now();
    const { apiVersion, command, args, env } = this.#exec;
    const file = command.includes('/') ? path.resolve(this.#folder, command) : command;
    const info = { apiVersion, kind: 'ExecCredential', spec: { interactive: false } };
    const own = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]));
    const variables = { ...process.env, KUBERNETES_EXEC_INFO: JSON.stringify(info), ...own };
    const { stdout } = await promisify(execFile)(file, args ?? [], { ...LIMITS, env: variables });
    return answerSchema.parse(JSON.parse(stdout)).status;
  }
}

// Strict on purpose: a key that is not known here may change what the credentials mean.
const schema = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Config'),
  preferences: z.strictObject({}).optional(),
  'current-context': text,
  contexts: z.array(
    z.strictObject({
      name: text,
      context: z.strictObject({ cluster: text, user: text, namespace: z.string().optional() }),
    }),
  ),
  clusters: z.array(
    z.strictObject({
      name: text,
      cluster: z.strictObject({
        server: z.url({ protocol: /^https$/ }),
        'certificate-authority': text.optional(),
        'certificate-authority-data': text.optional(),
        'tls-server-name': text.optional(),
      }),
    }),
  ),
  users: z.array(
    z.strictObject({
      name: text,
      user: z.strictObject({
        'client-certificate': text.optional(),
        'client-certificate-data': text.optional(),
        'client-key': text.optional(),
        'client-key-data': text.optional(),
        token: text.optional(),
        tokenFile: text.optional(),
        exec: execSchema.optional(),
      }),
    }),
  ),
});

/** The server of a kubeconfig and its credentials, read from their files again for each request. */
export interface Credentials {
  readonly server: string;
  authenticate(options: RequestOptions): Promise<void>;
  /** Told that the API server has refused what was given last; absent where nothing is kept. */
  refused?(): void;
}

/** Inline data wins over a file, as in client-go. */
async function material(
  data: string | undefined,
  file: string | undefined,
  folder: string,
): Promise<Buffer | undefined> {
  if (data !== undefined) return Buffer.from(data, 'base64');
  return file === undefined ? undefined : await readFile(path.resolve(folder, file));
}

/** What is no YAML to this parser is left to the library, but nothing that would cost too much. */
function readContent(text: string): unknown {
  try {
    return createYamlReader({ ...CONFIG_LIMITS, bytes: MAX_KUBECONFIG_BYTES, aliases: 0 })(text);
  } catch (error) {
    if (error instanceof YamlLimitError) throw error;
    return undefined;
  }
}

/** Reads a plain kubeconfig that lies at `file`; undefined where it is anything else. Throws YamlLimitError. */
export function parsePlainKubeconfig(content: string, file: string): Credentials | undefined {
  const parsed = schema.safeParse(readContent(content));
  if (!parsed.success) return undefined;
  const config = parsed.data;
  const context = config.contexts.find(({ name }) => name === config['current-context'])?.context;
  const cluster = config.clusters.find(({ name }) => name === context?.cluster)?.cluster;
  const user = config.users.find(({ name }) => name === context?.user)?.user;
  if (cluster === undefined || user === undefined) return undefined;
  const folder = path.dirname(file);
  const exec = user.exec && new ExecCredentials(user.exec, folder);
  return {
    server: cluster.server,
    refused: () => exec?.refused(),
    authenticate: async (options) => {
      const ca = await material(cluster['certificate-authority-data'], cluster['certificate-authority'], folder);
      const cert = await material(user['client-certificate-data'], user['client-certificate'], folder);
      const key = await material(user['client-key-data'], user['client-key'], folder);
      const token = user.token ?? (await material(undefined, user.tokenFile, folder))?.toString('utf8').trim();
      if (ca !== undefined) options.ca = ca;
      if (cert !== undefined) options.cert = cert;
      if (key !== undefined) options.key = key;
      if (cluster['tls-server-name'] !== undefined) options.servername = cluster['tls-server-name'];
      if (token !== undefined) options.headers = { Authorization: `Bearer ${token}` };
      else await exec?.apply(options);
    },
  };
}
