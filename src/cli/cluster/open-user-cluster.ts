/** The connection of a person's command to the API server. */
import { createKubeClient, type KubeClient } from '../../kube/client.ts';
import { loadUserAccess, type UserAccess, type UserAccessFlags } from '../../kube/access/user.ts';

/** The flags of every command that asks an API server, as kubectl has them. */
export interface AccessFlags extends UserAccessFlags {
  /** Milliseconds for each request but a watch; 0 for no limit, absent for the limits of the program. */
  readonly requestTimeout?: number | undefined;
}

/** An open connection, and how it was found. */
interface OpenUserCluster {
  readonly client: KubeClient;
  readonly access: UserAccess;
}

/** Opens the cluster that the flags name. Throws USAGE and KUBECONFIG_INVALID. */
export async function openUserCluster(flags: AccessFlags, userAgent: string): Promise<OpenUserCluster> {
  const access = await loadUserAccess(flags);
  return { client: createKubeClient(access, userAgent, undefined, flags.requestTimeout), access };
}
