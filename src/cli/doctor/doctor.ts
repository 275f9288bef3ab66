/** `nodemaint doctor`: whether this node is set up so that a shutdown will wait for its pods. */
import { existsSync } from 'node:fs';
import { access, constants, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import * as z from 'zod';
import { CONTROLLER_NAMESPACE } from '../../api/names.ts';
import { askKubelet } from '../../agent/static-pods/find-directory.ts';
import { createMirrorPodReader } from '../../agent/static-pods/interceptor.ts';
import { AGENT_CONFIG_PATH } from '../machine/agent-line.ts';
import { readStatus } from '../../agent/control/client.ts';
import { type LocalNode, openLocalNode, SILENT_LOG, type StaticPodsFlags } from '../machine/local-node.ts';
import { printChecks } from '../terminal/checks.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { DROP_INS } from '../../config/load.ts';
import type { AgentConfig } from '../../config/schema.ts';
import { chooseStaticPodPath } from '../../decide/machine/kubelet-config.ts';
import { carriersOf } from '../../decide/static-pod/control-plane-pod.ts';
import { winningDelay } from '../../decide/machine/logind-delay.ts';
import { SHUTDOWN_KINDS } from '../../decide/shutdown/kind.ts';
import { type DelayLock, otherLocks, refusesShutdown } from '../../decide/shutdown/other-locks.ts';
import { podKey } from '../../decide/static-pod/moves.ts';
import { describeError, errorCodeOf, NodemaintError } from '../../errors.ts';
import { createSystemClock } from '../../host/clock.ts';
import { createContainerRuntime } from '../../host/cri/runtime.ts';
import { createSystemBus } from '../../host/dbus/bus.ts';
import { findLocalEtcd, readEtcd } from '../../host/etcd/etcd.ts';
import { describeRefusal, judgePath, type WantedPath } from '../../host/files/trusted-path.ts';
import { isBoundHere } from '../../host/own-addresses.ts';
import { Login1 } from '../../host/systemd/logind.ts';
import { readLogindConfig } from '../../host/systemd/logind-config.ts';
import { Systemd } from '../../host/systemd/manager.ts';
import { loadClusterAccess } from '../../kube/access/cluster.ts';
import { createKubeClient, type KubeClient } from '../../kube/client.ts';
import { NODES, objectPath } from '../../kube/resource.ts';
import { type Check, type DoctorFacts, examineNode, POD_SLICE } from '../../show/checks/node-checks.ts';
import { readManifests } from '../../static-pods/directory.ts';
import { untrustedPlace } from '../../static-pods/trusted-places.ts';

const UNIT = 'nodemaint.service';
const TEXT = z.string().catch('');
const TEXTS = z.array(z.string()).catch([]);

/** The inhibitor locks that delay or refuse a shutdown, without the agent's own. Throws the errors of the bus. */
async function readOtherLocks(login1: Login1, signal: AbortSignal): Promise<readonly DelayLock[]> {
  const locks = await login1.listInhibitors(signal);
  return [...otherLocks(locks, process.getuid?.()), ...locks.filter(refusesShutdown)];
}

/** The paths that the agent's unit may write, and those that the agent needs to write. */
async function readUnitPaths(
  { config, paths }: LocalNode,
  systemd: Systemd,
  signal: AbortSignal,
): Promise<DoctorFacts['unitPaths']> {
  const read = (name: string): Promise<unknown> =>
    systemd.unitProperty(UNIT, 'Service', name, signal).catch(() => undefined);
  const beside = [paths.staticPodPath, paths.parkedPath].map((place) => path.dirname(place));
  return {
    protectSystem: TEXT.parse(await read('ProtectSystem')),
    writable: TEXTS.parse(await read('ReadWritePaths')),
    needed: [...beside, config.stateDirectory, config.runDirectory],
  };
}

/** The paths of the configuration that another user than root could change, each with its fix. */
async function readUntrustedPaths(config: AgentConfig, configFile: string): Promise<readonly string[]> {
  const socket = config.containerRuntimeEndpoint.replace(/^unix:\/\//, '');
  const places: [string, WantedPath['kind']][] = [
    [configFile, 'file'],
    [path.join(path.dirname(configFile), DROP_INS), 'directory'],
    [config.kubeconfig, 'file'],
    [socket, 'socket'],
    [config.hooksDirectory, 'directory'],
  ];
  const found: string[] = [];
  for (const [place, kind] of places) {
    if (!path.isAbsolute(place)) continue;
    const verdict = await judgePath(place, { kind, lastLink: 'follow' });
    if (verdict.kind === 'refused') found.push(describeRefusal(verdict));
  }
  return found;
}

/** The value, or the reason why it cannot be read. */
async function orWhy<T>(value: Promise<T>, signal: AbortSignal): Promise<T | string> {
  return await value.catch((error: unknown) => {
    signal.throwIfAborted();
    return describeError(error);
  });
}

async function readTimeouts(systemd: Systemd, signal: AbortSignal): Promise<DoctorFacts['targetTimeoutsMs']> {
  const found: Partial<Record<(typeof SHUTDOWN_KINDS)[number], number>> = {};
  for (const kind of SHUTDOWN_KINDS) {
    const state = await systemd.unitProperty(`${kind}.target`, 'Unit', 'LoadState', signal);
    const usec = z.bigint().safeParse(await systemd.unitProperty(`${kind}.target`, 'Unit', 'JobTimeoutUSec', signal));
    if (state === 'loaded' && usec.success) found[kind] = Number(usec.data) / 1000;
  }
  return found;
}

const NO_RELEASE =
  'agents may not act as nodemaint-agent-release here, so gated DaemonSet pods of this node wait for a controller';

/** Whether this node may act as the account that releases gated pods; any user may ask that of itself, and nothing is stored. */
async function mayReleasePods(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  const account = { namespace: CONTROLLER_NAMESPACE, name: 'nodemaint-agent-release' };
  const resourceAttributes = { verb: 'impersonate', group: '', resource: 'serviceaccounts', ...account };
  const spec = { resourceAttributes };
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const { status, body: answer } = await client.send({ method: 'POST', path, body }, signal);
  return status !== 201 || (answer as { status?: { allowed?: boolean } }).status?.allowed === true;
}

/** The static pods of the node that the API server does not know; none where it does not tell. */
async function readUnknownPods(
  { paths, nodeName, log }: LocalNode,
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { manifests } = await readManifests(paths.staticPodPath, nodeName, signal).catch(() => ({ manifests: [] }));
  const mirrors = manifests.length === 0 ? undefined : await createMirrorPodReader({ client, log, nodeName })(signal);
  return mirrors === undefined ? [] : manifests.map(podKey).filter((key) => !mirrors.has(key));
}

async function readApi(local: LocalNode, signal: AbortSignal): Promise<DoctorFacts['api']> {
  const { config, nodeName } = local;
  if (config.kubeconfig === '') return { kind: 'standalone' };
  let server = '';
  try {
    const access = await loadClusterAccess(config.kubeconfig);
    server = access.server.origin;
    const client = createKubeClient(access, 'nodemaint-doctor');
    try {
      const path = '/apis/nodemaintenance.x-k8s.io/v1alpha1/nodemaintenances?limit=1';
      const { status } = await client.send({ method: 'GET', path }, signal);
      const node = objectPath(NODES, { name: nodeName });
      const found = await client.send({ method: 'GET', path: node, answer: 'metadata' }, signal);
      if (found.status === 404) {
        const message = `${server} has no Node ${nodeName}, so that the agent guards a node that does not exist; set the key "nodeName"`;
        return { kind: 'failed', server, message };
      }
      if (status === 200) {
        const lost = (await mayReleasePods(client, signal)) ? '' : `; ${NO_RELEASE}`;
        const unknown = await readUnknownPods(local, client, signal);
        return { kind: 'ok', server, message: `NodeMaintenances can be read${lost}`, unknown };
      }
      const why = status === 404 ? 'the NodeMaintenance resource is not installed' : `it answered HTTP ${status}`;
      return { kind: 'failed', server, message: `${server}: ${why}` };
    } finally {
      client.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'failed', server, message: describeError(error) };
  }
}

async function readStaticPods(
  { config, paths, find, log }: LocalNode,
  signal: AbortSignal,
): Promise<DoctorFacts['staticPods']> {
  const kubelet = await askKubelet(find, log, signal);
  const { warning } = chooseStaticPodPath(config.staticPodPath, kubelet, paths.staticPodPath);
  const isThere = await stat(paths.staticPodPath).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const distrust = await untrustedPlace(paths);
  const wrong = { ...(warning === undefined ? {} : { warning }), ...(distrust === undefined ? {} : { distrust }) };
  return { path: paths.staticPodPath, isThere, ...wrong };
}

/** The programs of the control plane among the static pods of this node, and what its etcd tells. */
async function readMember(
  { paths, nodeName }: LocalNode,
  server: URL | undefined,
  signal: AbortSignal,
): Promise<Pick<DoctorFacts, 'carriers' | 'member'>> {
  const { manifests } = await readManifests(paths.staticPodPath, nodeName, signal).catch(() => ({ manifests: [] }));
  const programs = manifests.flatMap(({ program }) => program ?? []);
  const found = programs.find(({ name }) => name === 'etcd');
  const etcd = found && (await findLocalEtcd(found));
  return {
    carriers: server === undefined ? [] : carriersOf(manifests, server).map(({ file }) => file),
    member: {
      programs,
      etcd: etcd && (etcd.kind === 'none' ? etcd.reason : await orWhy(readEtcd(etcd, signal), signal)),
    },
  };
}

/** Whether the state directory can be written, found out without writing. */
async function readStorage({ stateDirectory, runDirectory }: AgentConfig): Promise<DoctorFacts['storage']> {
  const directory = stateDirectory;
  const status = await readStatus(runDirectory).catch(() => undefined);
  if (status?.storageProblem !== undefined) return { directory, problem: status.storageProblem };
  try {
    await access(directory, constants.W_OK);
    const { bavail, ffree, files } = await statfs(directory);
    const isFull = bavail === 0 || (files > 0 && ffree === 0);
    return isFull ? { directory, problem: `no room is left on the file system of ${directory}` } : { directory };
  } catch (error) {
    return { directory, problem: describeError(error), isMissing: errorCodeOf(error) === 'ENOENT' };
  }
}

async function readRuntime(config: AgentConfig, signal: AbortSignal): Promise<{ readonly version: string }> {
  const runtime = createContainerRuntime(config.containerRuntimeEndpoint);
  try {
    const { runtimeName, runtimeVersion } = await runtime.version(signal);
    return { version: `${runtimeName} ${runtimeVersion} at ${config.containerRuntimeEndpoint}` };
  } finally {
    runtime.close();
  }
}

async function readFacts(
  node: LocalNode,
  configFile: string,
  { login1, systemd }: { readonly login1: Login1; readonly systemd: Systemd },
  signal: AbortSignal,
): Promise<DoctorFacts> {
  const { config } = node;
  const api = await readApi(node, signal);
  const server = api.kind === 'standalone' || !URL.canParse(api.server) ? undefined : new URL(api.server);
  const delay = async (): Promise<Exclude<DoctorFacts['delay'], string>> => ({
    effectiveMs: await login1.inhibitDelayMaxMs(signal),
    winner: winningDelay(await readLogindConfig('/', signal)),
  });
  const lock = async (): Promise<Exclude<DoctorFacts['lock'], string>> => (await readStatus(config.runDirectory)).lock;
  const startsAfter = async (): Promise<readonly string[]> => {
    const units = z.array(z.string()).safeParse(await systemd.unitProperty(UNIT, 'Unit', 'After', signal));
    if (units.success) return units.data;
    throw new NodemaintError('DBUS_CALL_FAILED', `systemd does not report the units after which ${UNIT} starts`);
  };
  return {
    lock: await orWhy(lock(), signal),
    isBusAway: await login1.inhibitDelayMaxMs(signal).then(
      () => false,
      (error: unknown) => errorCodeOf(error) === 'DBUS_UNAVAILABLE',
    ),
    delay: await orWhy(delay(), signal),
    otherLocks: await orWhy(readOtherLocks(login1, signal), signal),
    unitPaths: await readUnitPaths(node, systemd, signal),
    distrusted: await readUntrustedPaths(node.config, configFile),
    targetTimeoutsMs: await orWhy(readTimeouts(systemd, signal), signal),
    startsAfter: await orWhy(startsAfter(), signal),
    hasPodSlices: (await orWhy(systemd.unitProperty(POD_SLICE, 'Unit', 'ActiveState', signal), signal)) === 'active',
    kubelet: await orWhy(node.find(signal), signal),
    refusedKubelets: node.refusedKubelets(),
    kubeletHome: await node.findHome(signal).catch(() => undefined),
    kubeletUnit: config.kubeletUnit,
    staticPods: await readStaticPods(node, signal),
    storage: await readStorage(config),
    runtime: await orWhy(readRuntime(config, signal), signal),
    api,
    serverIsLocal: server !== undefined && (await isBoundHere(server, signal)),
    ...(await readMember(node, server, signal)),
  };
}

/** The one check of a machine on which nothing is installed; undefined where a configuration, or another file, is named. */
function notInstalled({ config }: StaticPodsFlags): Check | undefined {
  if (config !== AGENT_CONFIG_PATH || existsSync(config)) return undefined;
  return {
    name: 'installation',
    result: 'fail',
    message: `no agent is installed on this machine: there is no ${AGENT_CONFIG_PATH}`,
    fix: 'install the package of the release, or run its install.sh as root; then run nodemaint doctor again',
  };
}

/** Checks this node. Returns the exit code: 1 where a check fails. Throws CONFIG_INVALID. */
export async function doctorCommand(flags: StaticPodsFlags, terminal: Terminal): Promise<number> {
  const missing = notInstalled(flags);
  if (missing !== undefined) return printChecks([missing], flags.output, terminal);
  // What openLocalNode warns of is in the table.
  const node = await openLocalNode(flags.config, { ...terminal, warn: () => undefined });
  const lifetime = new AbortController();
  try {
    const ending = AbortSignal.any([terminal.stop, lifetime.signal]);
    const bus = createSystemBus({ log: SILENT_LOG, clock: createSystemClock() }, ending);
    const facts = await readFacts(
      node,
      flags.config,
      { login1: new Login1(bus), systemd: new Systemd(bus) },
      terminal.stop,
    );
    const checks = examineNode(facts);
    return printChecks(checks, flags.output, terminal);
  } finally {
    lifetime.abort();
  }
}
