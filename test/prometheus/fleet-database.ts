/** A Prometheus whose database is filled with the metrics of a fleet, for what is to be seen with many nodes. */
import { createWriteStream } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { makeTestFolder } from '../support/folder.ts';
import { fleetMetrics } from './fleet.ts';
import { type Prometheus, promtool, startPrometheus } from './prometheus.ts';

const MINUTES = 120;

/** The fleet in its database. */
export interface FleetDatabase extends AsyncDisposable {
  readonly prometheus: Prometheus;
  /** The time of the last samples, in seconds since the epoch. */
  readonly end: number;
}

/** Fills a new database with the last two hours of so many nodes. */
export async function openFleetDatabase(nodes: number, signal: AbortSignal): Promise<FleetDatabase> {
  await using owned = new AsyncDisposableStack();
  const folder = await makeTestFolder('dashboard');
  owned.defer(() => rm(folder, { recursive: true, force: true }));
  const end = Math.floor(Date.now() / 60_000) * 60 - 60;
  const text = path.join(folder, 'metrics.txt');
  await pipeline(Readable.from(fleetMetrics(nodes, MINUTES, end)), createWriteStream(text));
  await promtool(['tsdb', 'create-blocks-from', 'openmetrics', text, path.join(folder, 'tsdb')], '', signal);
  const config = path.join(folder, 'prometheus.yaml');
  await writeFile(config, 'scrape_configs: []\n');
  const prometheus = owned.use(await startPrometheus(config, folder, signal));
  const stack = owned.move();
  return { prometheus, end, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
