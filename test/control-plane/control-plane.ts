import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Binaries, controlPlaneBinaries } from './binaries.ts';
import { createAuthority, writeKubeconfig } from './certificates.ts';
import { apiServerFlags, deleteAt, etcdFlags, isOk, managerFlags, runKubectl } from './components.ts';
import { freePort } from './port.ts';
import { type Program, startProgram } from './process.ts';
import { waitFor } from '../support/wait-for.ts';

/** A tenth less processor time, for half as much memory again: each test file starts a control plane of its own. */
const ENVIRONMENT = { GOGC: '400' };

/** A real Kubernetes control plane on loopback. */
export interface ControlPlane extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Where etcd listens, without authentication. */
  readonly etcdUrl: string;
  readonly adminKubeconfig: string;
  readonly caFile: string;
  /** Everything it wrote. */
  readonly folder: string;
  /** The folder of the components' logs, `kube-apiserver.log` and so on. */
  readonly logs: string;
  readonly binaries: Binaries;
  /** Runs the real kubectl as cluster admin; rejects with what it printed. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  /** A kubeconfig with a new client certificate; `server` is how its owner reaches the API server. */
  kubeconfigFor(user: string, groups: readonly string[], server?: string): Promise<string>;
  /** The process of kube-apiserver, while it runs. */
  apiServerPid(): number | undefined;
  /** Stops kube-apiserver alone; its port, data and certificates stay. */
  stopApiServer(): Promise<void>;
  startApiServer(): Promise<void>;
}

export interface ControlPlaneOptions {
  /** More addresses or host names that the API server's certificate is for, such as 10.0.2.100. */
  readonly extraSans?: readonly string[];
  /** Where the API server listens; loopback unless told. */
  readonly bindAddress?: string;
  readonly port?: number;
  /** A folder whose cluster is taken up where it was left, and left again; a temporary one unless told. */
  readonly dataFolder?: string;
  /** A folder with SEED_PARTS of a cluster that has ended: this one begins with a copy of its objects. */
  readonly seed?: string;
  /** More flags of kube-apiserver. */
  readonly apiServerFlags?: readonly string[];
  /** More flags of kube-controller-manager. */
  readonly controllerManagerFlags?: readonly string[];
}

/** What a cluster is begun from: its objects, and the authority whose certificate some of them have. */
export const SEED_PARTS = ['etcd', 'ca.crt', 'ca.key'];
const START_MS = 120_000;

/** A subject alternative name as openssl has it. */
function sanOf(name: string): string {
  if (/^(?:IP|DNS):/u.test(name)) return name;
  return isIP(name) === 0 ? `DNS:${name}` : `IP:${name}`;
}

async function prepareFolder(options: ControlPlaneOptions, stack: AsyncDisposableStack): Promise<string> {
  const { dataFolder } = options;
  const folder = dataFolder ?? (await mkdtemp(path.join(tmpdir(), 'nodemaint-control-plane-')));
  if (dataFolder === undefined) {
    stack.defer(async () => await rm(folder, { recursive: true, force: true }));
  }
  if (options.seed !== undefined) {
    const parts = SEED_PARTS.map((part) => path.join(options.seed ?? '', part));
    await promisify(execFile)('cp', ['-r', '--sparse=always', '--preserve=mode', ...parts, folder]);
  }
  await mkdir(path.join(folder, 'etcd'), { recursive: true, mode: 0o700 });
  await mkdir(path.join(folder, 'logs'), { recursive: true });
  return folder;
}

/** Starts etcd, the API server, the controller manager and the scheduler, and waits until they work. */
export async function startControlPlane(options: ControlPlaneOptions, signal: AbortSignal): Promise<ControlPlane> {
  const binaries = await controlPlaneBinaries(signal);
  await using stack = new AsyncDisposableStack();
  const folder = await prepareFolder(options, stack);
  const logs = path.join(folder, 'logs');
  const port = options.port ?? (await freePort());
  const url = `https://127.0.0.1:${port}`;
  const start = (name: keyof Binaries, flags: readonly string[]): Program =>
    startProgram([binaries[name], ...flags], path.join(logs, `${name}.log`), ENVIRONMENT);

  const etcdUrl = `http://127.0.0.1:${await freePort()}`;
  stack.use(start('etcd', etcdFlags(path.join(folder, 'etcd'), etcdUrl, `http://127.0.0.1:${await freePort()}`)));
  const authority = await createAuthority(folder);
  const sans = ['127.0.0.1', '10.96.0.1', 'localhost', ...(options.extraSans ?? [])];
  const [serving, admin, manager, scheduler, accounts] = await Promise.all([
    authority.server('kube-apiserver', sans.map(sanOf)),
    authority.client('admin', 'admin', ['system:masters']),
    authority.client('manager', 'system:kube-controller-manager', []),
    authority.client('scheduler', 'system:kube-scheduler', []),
    authority.client('accounts', 'service-accounts', []),
  ]);
  const caFile = authority.ca.cert;
  const adminKubeconfig = await writeKubeconfig(path.join(folder, 'admin.conf'), url, caFile, admin);
  const managerConfig = await writeKubeconfig(path.join(folder, 'manager.conf'), url, caFile, manager);
  const schedulerConfig = await writeKubeconfig(path.join(folder, 'scheduler.conf'), url, caFile, scheduler);
  const bindAddress = options.bindAddress ?? '127.0.0.1';
  const settings = { etcdUrl, bindAddress, port, serving, caFile, accountsKey: accounts.key };

  let apiServer: Program | undefined;
  const stopApiServer = async (): Promise<void> => {
    // It would wait for its watchers, which never leave; whatever it has answered is in etcd.
    await apiServer?.stop(500);
  };
  stack.defer(stopApiServer);
  const startApiServer = async (): Promise<void> => {
    apiServer = start('kube-apiserver', [...apiServerFlags(settings), ...(options.apiServerFlags ?? [])]);
    const isReady = (): Promise<boolean> => isOk(`${url}/readyz`, caFile, admin);
    await waitFor('kube-apiserver gets ready', isReady, { timeoutMs: START_MS, program: apiServer, signal });
  };
  await startApiServer();
  // The last thing that a pod needs; the name is that of the namespace's account. One from before says nothing of this start.
  const account = `${url}/api/v1/namespaces/default/serviceaccounts/default`;
  if (options.seed !== undefined) await deleteAt(account, caFile, admin);

  const controllerManager = stack.use(
    start('kube-controller-manager', [
      ...managerFlags(managerConfig, await freePort()),
      '--use-service-account-credentials=true',
      `--service-account-private-key-file=${accounts.key}`,
      `--root-ca-file=${caFile}`,
      `--flex-volume-plugin-dir=${path.join(folder, 'volume-plugins')}`,
      ...(options.controllerManagerFlags ?? []),
    ]),
  );
  stack.use(start('kube-scheduler', managerFlags(schedulerConfig, await freePort())));
  const what = 'kube-controller-manager makes the default service account';
  const hasAccount = (): Promise<boolean> => isOk(account, caFile, admin);
  await waitFor(what, hasAccount, { timeoutMs: START_MS, program: controllerManager, signal });

  const owned = stack.move();
  return {
    url,
    port,
    etcdUrl: settings.etcdUrl,
    adminKubeconfig,
    caFile,
    folder,
    logs,
    binaries,
    kubectl: (args, input) => runKubectl(binaries.kubectl, adminKubeconfig, args, input),
    kubeconfigFor: async (user, groups, server = url) => {
      const name = `client-${crypto.randomUUID()}`;
      const pair = await authority.client(name, user, groups);
      return await writeKubeconfig(path.join(folder, `${name}.conf`), server, caFile, pair);
    },
    apiServerPid: () => apiServer?.pid,
    stopApiServer,
    startApiServer,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
