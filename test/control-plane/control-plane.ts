import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Binaries, controlPlaneBinaries } from './binaries.ts';
import { createAuthority, writeKubeconfig } from './certificates.ts';
import { type Program, startProgram, waitUntil } from './process.ts';

/** A real Kubernetes control plane on loopback. */
export interface ControlPlane extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly adminKubeconfig: string;
  readonly caFile: string;
  readonly folder: string;
  readonly binaries: Binaries;
  /** Runs the real kubectl as cluster admin; rejects with what it printed. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** A kubeconfig with a new client certificate; `server` is how its owner reaches the API server. */
  kubeconfigFor(user: string, groups: readonly string[], server?: string): Promise<string>;
  stopApiServer(): Promise<void>;
  startApiServer(): Promise<void>;
}

export interface ControlPlaneOptions {
  /** More subject alternative names of the API server, as openssl has them: "IP:10.0.2.100". */
  readonly extraSans?: readonly string[];
}

const START_MS = 60_000;

/** A TCP port on loopback that nobody uses now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function kubectl(
  binary: string,
  kubeconfig: string,
  args: readonly string[],
  input: string | undefined,
): Promise<string> {
  return await new Promise((resolve, reject) => {
    const options = { maxBuffer: 64 * 1024 * 1024, timeout: 120_000 };
    const child = execFile(binary, ['--kubeconfig', kubeconfig, ...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`kubectl ${args.join(' ')}: ${stderr}${stdout}`, { cause: error }));
    });
    child.stdin?.end(input ?? '');
  });
}

/** Starts etcd, the API server, the controller manager and the scheduler, with the Node authorizer and NodeRestriction. */
export async function startControlPlane(options: ControlPlaneOptions, signal: AbortSignal): Promise<ControlPlane> {
  const binaries = await controlPlaneBinaries(signal);
  const folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-control-plane-'));
  await mkdir(path.join(folder, 'etcd'), { mode: 0o700 });
  const [etcdPort, peerPort, port, managerPort, schedulerPort] = await Promise.all(Array.from({ length: 5 }, freePort));
  const url = `https://127.0.0.1:${port}`;
  const log = (name: string): string => path.join(folder, `${name}.log`);

  const etcdUrl = `http://127.0.0.1:${etcdPort}`;
  const peerUrl = `http://127.0.0.1:${peerPort}`;
  const etcd = startProgram(
    [
      binaries.etcd,
      `--data-dir=${path.join(folder, 'etcd')}`,
      `--listen-client-urls=${etcdUrl}`,
      `--advertise-client-urls=${etcdUrl}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      '--unsafe-no-fsync',
    ],
    log('etcd'),
  );
  const authority = await createAuthority(folder);
  const [serving, admin, manager, scheduler, accounts] = await Promise.all([
    authority.server('kube-apiserver', ['IP:127.0.0.1', 'IP:10.96.0.1', 'DNS:localhost', ...(options.extraSans ?? [])]),
    authority.client('admin', 'admin', ['system:masters']),
    authority.client('manager', 'system:kube-controller-manager', []),
    authority.client('scheduler', 'system:kube-scheduler', []),
    authority.client('accounts', 'service-accounts', []),
  ]);
  const caFile = authority.ca.cert;
  const adminKubeconfig = await writeKubeconfig(path.join(folder, 'admin.conf'), url, caFile, admin);
  const managerConfig = await writeKubeconfig(path.join(folder, 'manager.conf'), url, caFile, manager);
  const schedulerConfig = await writeKubeconfig(path.join(folder, 'scheduler.conf'), url, caFile, scheduler);

  let apiServer: Program | undefined;
  const startApiServer = async (): Promise<void> => {
    apiServer = startProgram(
      [
        binaries['kube-apiserver'],
        `--etcd-servers=${etcdUrl}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${port}`,
        '--advertise-address=127.0.0.1',
        '--endpoint-reconciler-type=none',
        `--tls-cert-file=${serving.cert}`,
        `--tls-private-key-file=${serving.key}`,
        `--client-ca-file=${caFile}`,
        '--authorization-mode=Node,RBAC',
        '--enable-admission-plugins=NodeRestriction',
        '--service-cluster-ip-range=10.96.0.0/16',
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${accounts.key}`,
        `--service-account-signing-key-file=${accounts.key}`,
        '--allow-privileged=true',
      ],
      log('kube-apiserver'),
    );
    const ready = async (): Promise<boolean> => {
      await kubectl(binaries.kubectl, adminKubeconfig, ['get', '--raw', '/readyz'], undefined);
      return true;
    };
    await waitUntil('the API server gets ready', ready, { timeoutMs: START_MS, program: apiServer }, signal);
  };
  await startApiServer();

  const controllerManager = startProgram(
    [
      binaries['kube-controller-manager'],
      `--kubeconfig=${managerConfig}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${managerPort}`,
      '--leader-elect=false',
      '--use-service-account-credentials=true',
      `--service-account-private-key-file=${accounts.key}`,
      `--root-ca-file=${caFile}`,
    ],
    log('kube-controller-manager'),
  );
  const schedulerProgram = startProgram(
    [
      binaries['kube-scheduler'],
      `--kubeconfig=${schedulerConfig}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${schedulerPort}`,
      '--leader-elect=false',
    ],
    log('kube-scheduler'),
  );

  const ask = (args: readonly string[], input?: string): Promise<string> =>
    kubectl(binaries.kubectl, adminKubeconfig, args, input);
  const hasAccount = async (): Promise<boolean> => {
    await ask(['get', 'serviceaccount', 'default']);
    return true;
  };
  await waitUntil(
    'the controller manager makes the default service account',
    hasAccount,
    { timeoutMs: START_MS, program: controllerManager },
    signal,
  );

  return {
    url,
    port: port ?? 0,
    adminKubeconfig,
    caFile,
    folder,
    binaries,
    kubectl: ask,
    kubeconfigFor: async (user, groups, server = url) => {
      const name = `client-${crypto.randomUUID()}`;
      const pair = await authority.client(name, user, groups);
      return await writeKubeconfig(path.join(folder, `${name}.conf`), server, caFile, pair);
    },
    stopApiServer: async () => {
      await apiServer?.stop();
    },
    startApiServer,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([schedulerProgram.stop(), controllerManager.stop()]);
      await apiServer?.stop();
      await etcd.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
