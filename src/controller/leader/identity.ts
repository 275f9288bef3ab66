import { hostname } from 'node:os';

/** The name of a pod. */
const POD_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/**
 * Under which name a replica stands for election: that of its pod, which the Deployment has in the environment, because only that
 * is in its token. The name of the host is another one with the network of the node; it stands in where the environment has none.
 */
export function electionIdentity(
  environment: Readonly<Record<string, string | undefined>>,
  host: string = hostname(),
): string {
  const pod = environment['POD_NAME'] ?? '';
  return `${POD_NAME.test(pod) ? pod : host}_${crypto.randomUUID()}`;
}
