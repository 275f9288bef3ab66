import { readFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { freePort } from '../../control-plane/port.ts';
import { type Program, startProgram } from '../../control-plane/process.ts';
import { waitFor } from '../../support/wait-for.ts';
import { pause } from '../parallel.ts';
import { cpuMs } from '../process-figures.ts';
import type { ScaleCluster } from './cluster.ts';

/** What a program took in one second. */
export interface Second {
  /** Milliseconds since the epoch at its end. */
  readonly at: number;
  /** The most that its event loop was late, in milliseconds; a busy machine makes it late too. */
  readonly lateMs: number;
  /** The most processor time of its own between two looks of the event loop, in milliseconds. */
  readonly busyMs: number;
  readonly residentMiB: number;
}

/** A program of ours with a probe in it. */
export interface ProbedProgram extends AsyncDisposable {
  readonly program: Program;
  seconds(): Promise<readonly Second[]>;
  cpuMs(): Promise<number>;
}

/** The controller under a probe. */
export interface BenchedController extends ProbedProgram {
  /** How often it has looked at a maintenance. */
  looks(): Promise<number>;
  /** How often it has taken the Lease over, or lost it. */
  lostLeases(): Promise<number>;
}

/** Often enough to see what takes 50 ms, and a hundredth of a processor. */
const LOOP_TICK_MS = 20;
const PROBE = path.join(import.meta.dirname, 'probe.ts');

/** Options that make the program write its processor profile at its end into the folder that NODEMAINT_BENCH_PROFILE names. */
function profileOptions(): string {
  const folder = process.env['NODEMAINT_BENCH_PROFILE'];
  return folder === undefined ? '' : ` --cpu-prof --cpu-prof-dir=${folder}`;
}

/** Starts a program with the probe, which looks at the event loop every `tickMs`, or never at 0. */
function startProbed(
  command: readonly [string, ...string[]],
  name: string,
  cluster: ScaleCluster,
  tickMs: number,
): ProbedProgram {
  const lines = path.join(cluster.folder, `${name}.probe`);
  const options = `--disable-warning=ExperimentalWarning --import=${PROBE}${profileOptions()}`;
  const env = { NODE_OPTIONS: options, NODEMAINT_BENCH_PROBE: lines, NODEMAINT_BENCH_TICK_MS: String(tickMs) };
  const program = startProgram(command, path.join(cluster.folder, `${name}.log`), env);
  return {
    program,
    seconds: async () => {
      const text = await readFile(lines, 'utf8').catch(() => '');
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Second]));
    },
    cpuMs: () => cpuMs(program.pid),
    [Symbol.asyncDispose]: () => program.stop(),
  };
}

/** Makes the API server ask the controller's webhook, which is served on loopback. */
async function callWebhookAt(port: number, { controlPlane }: ScaleCluster): Promise<void> {
  const configuration = 'validatingwebhookconfiguration/nodemaint-webhook';
  const { webhooks } = JSON.parse(await controlPlane.kubectl(['get', configuration, '-o', 'json'])) as {
    webhooks: { clientConfig: { service?: { path: string } } }[];
  };
  const patch = webhooks.flatMap(({ clientConfig: { service } }, index) => {
    const at = `/webhooks/${index}/clientConfig`;
    const url = { op: 'add', path: `${at}/url`, value: `https://127.0.0.1:${port}${service?.path}` };
    return service === undefined ? [] : [{ op: 'remove', path: `${at}/service` }, url];
  });
  await controlPlane.kubectl(['patch', configuration, '--type=json', '-p', JSON.stringify(patch)]);
}

/** Starts the controller of the bundle, with its webhook and its Lease, and waits until it leads. */
export async function startController(
  command: readonly [string, ...string[]],
  cluster: ScaleCluster,
): Promise<BenchedController> {
  const [metrics, webhook] = [`127.0.0.1:${await freePort()}`, await freePort()];
  await callWebhookAt(webhook, cluster);
  const flags = [`--metrics-address=${metrics}`, `--webhook-port=${webhook}`, '--webhook-host=127.0.0.1'];
  const args = ['controller', '--kubeconfig', cluster.controllerKubeconfig, ...flags];
  const probed = startProbed([...command, ...args], 'controller', cluster, LOOP_TICK_MS);
  const read = async (): Promise<string> => await (await fetch(`http://${metrics}/metrics`)).text();
  const leads = async (): Promise<boolean> => /^leader_election_master_status\{[^}]*\} 1$/m.test(await read());
  await waitFor('the controller leads', leads, { timeoutMs: 60_000, program: probed.program, signal: cluster.signal });
  return {
    ...probed,
    looks: async () =>
      Number(/^workqueue_work_duration_seconds_count\{name="nodemaintenances"\} (\d+)$/m.exec(await read())?.[1] ?? 0),
    lostLeases: async () => {
      const log = await readFile(probed.program.logFile, 'utf8');
      return log.split('\n').filter((line) => line.includes('lost the lease')).length;
    },
    [Symbol.asyncDispose]: () => probed[Symbol.asyncDispose](),
  };
}

/** Waits until the program has used less than a tenth of a processor for two seconds. */
export async function untilQuiet(probed: ProbedProgram, signal: AbortSignal): Promise<void> {
  for (let quiet = 0; quiet < 2; ) {
    const before = await probed.cpuMs();
    await pause(1_000, signal);
    quiet = (await probed.cpuMs()) - before < 100 ? quiet + 1 : 0;
  }
}
