import { once } from 'node:events';
import { hostname } from 'node:os';
import type { AgentConfig } from '../config/schema.ts';
import type { StateFiles } from '../host/files/state-files.ts';
import type { KubeletFinder } from '../host/kubelet/finder.ts';
import { type ClusterAccess, openClusterAccess } from '../kube/access/cluster.ts';
import { certifiedNodeName, nodeNameIn, ownName } from '../kube/own-identity.ts';
import { createKubeClient, type KubeClient } from '../kube/client.ts';

/** The way to the API server of the configuration, and a client for it. */
export interface ApiAccess {
  readonly access: ClusterAccess;
  readonly client: KubeClient;
}

/** What may know the name of the node. */
interface NameSources {
  readonly config: Pick<AgentConfig, 'nodeName'>;
  /** Undefined where no cluster is configured. */
  readonly api: ApiAccess | undefined;
  readonly kubelets: Pick<KubeletFinder, 'config'>;
  readonly state: Pick<StateFiles, 'read'>;
}

/** Who answers at its address is asked so long at most: the machine is to be held also where nobody does. */
const ASK_MS = 2_000;
const FILE = 'node-name';

/** The name by which the API server knows this node, as it says itself or has certified; undefined where it does not. */
async function nameOfApi({ api }: NameSources, signal: AbortSignal): Promise<string | undefined> {
  if (api === undefined) return undefined;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]);
  const late = once(limit, 'abort').then(() => undefined);
  const ask = async (): Promise<string | undefined> =>
    (await certifiedNodeName(api.access)) ?? nodeNameIn(await ownName(api.client, limit).catch(() => ''));
  return await Promise.race([ask(), late]);
}

/**
 * The name of the node's object: configured, else the one of the identity that the API server knows, else as the running kubelet was
 * told, else as `state` remembers it (`rememberNodeName`), else the host's, by which a kubelet goes that was told nothing.
 */
export async function findNodeName(sources: NameSources, signal: AbortSignal): Promise<string> {
  const { config, kubelets, state } = sources;
  const known = config.nodeName ?? (await nameOfApi(sources, signal));
  if (known !== undefined) return known;
  const kubelet = await kubelets.config(signal).catch(() => undefined);
  return kubelet?.hostnameOverride ?? (await state.read(FILE)) ?? hostname().toLowerCase();
}

/** Keeps the name for an agent that starts while neither the API server nor the kubelet can tell it. */
export async function rememberNodeName(state: StateFiles, nodeName: string): Promise<void> {
  if ((await state.read(FILE)) !== nodeName) await state.write(FILE, nodeName);
}

/** Opens the way to the API server; undefined where no cluster is configured. */
export function openApi(
  kubeconfig: string,
  connect = (access: ClusterAccess) => createKubeClient(access, 'nodemaint-agent'),
): ApiAccess | undefined {
  if (kubeconfig === '') return undefined;
  const access = openClusterAccess(kubeconfig);
  return { access, client: connect(access) };
}
