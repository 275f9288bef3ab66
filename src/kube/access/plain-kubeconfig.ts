/**
 * Kubeconfigs of the plain kind that kubelets have: certificates, keys or tokens in files, inline or from a program. An agent idles on
 * every node, and the client library costs it 8 MB of memory; so the library is loaded only for what is not plain
 * (OIDC, proxies, impersonation), which this parser leaves to it by answering undefined (docs/adr/0002).
 */
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import path from 'node:path';
import * as z from 'zod';
import { ExecCredentials, execSchema } from './exec-credentials.ts';
import { CONFIG_LIMITS, createYamlReader, YamlLimitError } from '../../host/files/yaml.ts';

/** Certificates and keys lie in it as text, of any number of clusters. */
export const MAX_KUBECONFIG_BYTES = 512 * 1024;

const text = z.string().min(1);

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
