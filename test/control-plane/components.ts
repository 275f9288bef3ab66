import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import type { KeyPair } from './certificates.ts';

/** What the API server's command line depends on. */
export interface ApiServerSettings {
  readonly etcdUrl: string;
  readonly bindAddress: string;
  readonly port: number;
  readonly serving: KeyPair;
  readonly caFile: string;
  /** The key that signs service account tokens. */
  readonly accountsKey: string;
}

/** The flags of kube-apiserver: Node authorizer, RBAC, NodeRestriction. */
export function apiServerFlags(settings: ApiServerSettings): readonly string[] {
  const { etcdUrl, bindAddress, port, serving, caFile, accountsKey } = settings;
  return [
    `--etcd-servers=${etcdUrl}`,
    `--bind-address=${bindAddress}`,
    `--secure-port=${port}`,
    '--advertise-address=127.0.0.1',
    // Loopback cannot be an endpoint of the service "kubernetes", and nothing here uses that service.
    '--endpoint-reconciler-type=none',
    `--tls-cert-file=${serving.cert}`,
    `--tls-private-key-file=${serving.key}`,
    `--client-ca-file=${caFile}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${accountsKey}`,
    `--service-account-signing-key-file=${accountsKey}`,
    '--allow-privileged=true',
  ];
}

/** The flags of an etcd that keeps its data in `folder` and trusts the page cache. */
export function etcdFlags(folder: string, url: string, peerUrl: string): readonly string[] {
  return [
    `--data-dir=${folder}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    // The peer port is another one after each start; nothing checks it against what the data says.
    '--force-new-cluster',
    '--unsafe-no-fsync',
  ];
}

/** The flags that the scheduler and the controller manager share; each is the only one of its kind. */
export function managerFlags(kubeconfig: string, port: number): readonly string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--leader-elect=false',
    // At the default of 20 calls a second the controller manager takes 5 s to make its own service accounts.
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
  ];
}

/** The status with which the server answers, without its body; rejects while it does not answer at all. */
async function statusOf(method: 'GET' | 'DELETE', url: string, caFile: string, client: KeyPair): Promise<number> {
  const [ca, cert, key] = await Promise.all([readFile(caFile), readFile(client.cert), readFile(client.key)]);
  return await new Promise((resolve, reject) => {
    const call = request(url, { method, ca, cert, key, agent: false, timeout: 5_000 }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    call.on('timeout', () => call.destroy(new Error(`${url} did not answer within 5 s`)));
    call.on('error', reject);
    call.end();
  });
}

/** Whether the server answers a GET with 200; rejects while it does not answer at all. */
export async function isOk(url: string, caFile: string, client: KeyPair): Promise<boolean> {
  return (await statusOf('GET', url, caFile, client)) === 200;
}

/** Deletes the object at this address; it may be gone already. */
export async function deleteAt(url: string, caFile: string, client: KeyPair): Promise<void> {
  const status = await statusOf('DELETE', url, caFile, client);
  if (status !== 200 && status !== 404) throw new Error(`${url} was not deleted: HTTP ${status}`);
}

/** Runs kubectl to its end; rejects with what it printed. */
export async function runKubectl(
  binary: string,
  kubeconfig: string,
  args: readonly string[],
  input = '',
): Promise<string> {
  return await new Promise((resolve, reject) => {
    const options = { maxBuffer: 64 * 1024 * 1024, timeout: 420_000 };
    // What it knows of another cluster on the same port must not pass for this one's.
    const own = ['--kubeconfig', kubeconfig, '--cache-dir', `${kubeconfig}.cache`];
    const child = execFile(binary, [...own, ...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`kubectl ${args.join(' ')}: ${stderr}${stdout}`, { cause: error }));
    });
    // It may end before it has read everything.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}
