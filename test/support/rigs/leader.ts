import path from 'node:path';
import type { Lease } from '../../../src/api/lease.ts';
import { CONTROLLER_LEASE, readLease } from '../../../src/kube/lease.ts';
import { freePort } from '../../control-plane/port.ts';
import { type Program } from '../../control-plane/process.ts';
import type { EvictionRig } from './eviction.ts';
import { startNodemaint } from '../commands/nodemaint.ts';
import { waitFor } from '../wait-for.ts';

/** Times of an election that tests can wait for; in proportion as the default ones. */
export const QUICK_ELECTION = [
  '--leader-elect-lease-duration=3s',
  '--leader-elect-renew-deadline=2s',
  '--leader-elect-retry-period=400ms',
] as const;

/** One replica of the controller, as a process of its own. */
export interface Replica extends AsyncDisposable {
  readonly name: string;
  readonly program: Program;
  /** Its metrics and probes. */
  readonly url: string;
  /** The value of leader_election_master_status; undefined while it does not answer. */
  leads(): Promise<boolean | undefined>;
}

/** Starts a replica and waits until its caches are filled. */
export async function startReplica(
  rig: EvictionRig,
  name: string,
  flags: readonly string[] = QUICK_ELECTION,
  kubeconfig = rig.controllerKubeconfig,
): Promise<Replica> {
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const log = path.join(rig.folder, `${name}.log`);
  const args = ['controller', '--kubeconfig', kubeconfig, '--metrics-address', address, ...flags];
  const program = startNodemaint(args, log);
  const isReady = async (): Promise<boolean> => (await fetch(`${url}/readyz`)).ok;
  await waitFor(`${name} is ready`, isReady, { timeoutMs: 20_000, program });
  return {
    name,
    program,
    url,
    leads: async () => {
      const text = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(500) }).then(
        (answer) => answer.text(),
        () => '',
      );
      const [, value] = /^leader_election_master_status\{name="nodemaint-controller"\} (\d)$/m.exec(text) ?? [];
      return value === undefined ? undefined : value === '1';
    },
    [Symbol.asyncDispose]: async () => {
      program.kill('SIGCONT');
      await program.stop();
    },
  };
}

/** Waits until the replica leads; returns for how many milliseconds that took. */
export async function untilLeads(replica: Replica, timeoutMs = 15_000): Promise<number> {
  const begun = Date.now();
  const ask = async (): Promise<boolean> => (await replica.leads()) === true;
  const options = { timeoutMs, program: replica.program };
  await waitFor(`${replica.name} leads`, ask, options);
  return Date.now() - begun;
}

/** The controller's Lease, as cluster admin. */
export async function leaseOf(rig: EvictionRig): Promise<Lease | undefined> {
  return await readLease(rig.client, CONTROLLER_LEASE, new AbortController().signal);
}
