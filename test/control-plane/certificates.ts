import { execFile } from 'node:child_process';
import { access, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A certificate and its key, as files. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority in a folder, made with the openssl command. */
export interface Authority {
  readonly ca: KeyPair;
  /** A client certificate for a user in groups. */
  client(name: string, user: string, groups: readonly string[]): Promise<KeyPair>;
  /** A serving certificate for addresses and names. */
  server(name: string, sans: readonly string[]): Promise<KeyPair>;
}

async function newKey(file: string): Promise<void> {
  await run('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', file]);
}

async function exists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}

/** Makes an authority whose files lie in `folder`, or takes up the one that lies there. */
export async function createAuthority(folder: string): Promise<Authority> {
  const ca = { cert: path.join(folder, 'ca.crt'), key: path.join(folder, 'ca.key') };
  if (!(await exists(ca.cert))) {
    await newKey(ca.key);
    // A cluster that others begin from is kept for longer than a certificate lives.
    const subject = ['-subj', '/CN=nodemaint-test-ca', '-days', '3650'];
    await run('openssl', ['req', '-x509', '-new', '-key', ca.key, '-out', ca.cert, ...subject]);
  }

  const issue = async (name: string, subject: string, extensions: string): Promise<KeyPair> => {
    const pair = { cert: path.join(folder, `${name}.crt`), key: path.join(folder, `${name}.key`) };
    const request = path.join(folder, `${name}.csr`);
    const config = path.join(folder, `${name}.ext`);
    if (!(await exists(pair.key))) await newKey(pair.key);
    await writeFile(config, extensions);
    await run('openssl', ['req', '-new', '-key', pair.key, '-out', request, '-subj', subject]);
    const signing = ['-CA', ca.cert, '-CAkey', ca.key, '-set_serial', `0x${crypto.randomUUID().replaceAll('-', '')}`];
    await run('openssl', [
      'x509',
      '-req',
      '-in',
      request,
      ...signing,
      '-out',
      pair.cert,
      '-days',
      '30',
      '-extfile',
      config,
    ]);
    return pair;
  };

  return {
    ca,
    client: (name, user, groups) =>
      issue(name, `${groups.map((group) => `/O=${group}`).join('')}/CN=${user}`, 'extendedKeyUsage=clientAuth\n'),
    server: (name, sans) =>
      issue(name, `/CN=${name}`, `extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=${sans.join(',')}\n`),
  };
}

/** Writes a kubeconfig with everything in it and returns its path. */
export async function writeKubeconfig(file: string, server: string, caFile: string, pair: KeyPair): Promise<string> {
  const inline = async (name: string): Promise<string> => (await readFile(name)).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': await inline(caFile) } }],
    users: [
      {
        name: 'test',
        user: { 'client-certificate-data': await inline(pair.cert), 'client-key-data': await inline(pair.key) },
      },
    ],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  };
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  return file;
}
