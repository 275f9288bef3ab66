import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { freePort } from '../control-plane/port.ts';
import { type Program, startProgram } from '../control-plane/process.ts';
import { assertDeclared } from '../needs/declared.ts';
import { buildGo, cacheFolder, isProgram } from '../support/go-program.ts';
import { waitFor } from '../support/wait-for.ts';

/** The paths of the two programs of Prometheus. */
export interface PrometheusBinaries {
  readonly prometheus: string;
  readonly promtool: string;
}

const MODULE = import.meta.dirname;

/** The programs that go.mod pins, built once. Service discovery is left out: most of the code is clients of clouds. */
export async function prometheusBinaries(signal: AbortSignal): Promise<PrometheusBinaries> {
  assertDeclared('prometheus');
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) hash.update(await readFile(path.join(MODULE, file)));
  const folder = path.join(cacheFolder('prometheus'), hash.digest('hex').slice(0, 16));
  const found = { prometheus: path.join(folder, 'prometheus'), promtool: path.join(folder, 'promtool') };
  if (await isProgram(found.prometheus)) return found;

  process.stderr.write('building Prometheus from its Go module; some minutes, once\n');
  await mkdir(path.dirname(folder), { recursive: true });
  const temporary = await mkdtemp(`${folder}.`);
  try {
    const unless = { lock: `${folder}.lock`, program: found.prometheus };
    await buildGo({ module: MODULE, ldflags: '', tags: 'remove_all_sd', into: `${temporary}/`, unless }, signal);
    if (!(await isProgram(found.prometheus))) await rename(temporary, folder);
    return found;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Runs promtool, with this text as its standard input; resolves to what it printed, and rejects with that too. */
export async function promtool(args: readonly string[], input: string, signal: AbortSignal): Promise<string> {
  const { promtool: program } = await prometheusBinaries(signal);
  const running = promisify(execFile)(program, [...args], { signal, maxBuffer: 16 * 1024 * 1024 });
  running.child.stdin?.end(input);
  const { stdout, stderr } = await running;
  return stdout + stderr;
}

/** What an instant query found: the time in seconds, and the number. */
export interface PrometheusSample {
  readonly value?: readonly [number, string];
}

/** A running Prometheus. */
export interface Prometheus extends AsyncDisposable {
  readonly url: string;
  /** Runs an instant query; rejects with Prometheus' own words for one that is wrong. */
  query(expression: string): Promise<readonly PrometheusSample[]>;
}

/** Starts a Prometheus with this configuration file, whose data is in `folder`. */
export async function startPrometheus(config: string, folder: string, signal: AbortSignal): Promise<Prometheus> {
  const { prometheus } = await prometheusBinaries(signal);
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const flags = [`--config.file=${config}`, `--storage.tsdb.path=${path.join(folder, 'tsdb')}`];
  const program: Program = startProgram(
    [prometheus, ...flags, `--web.listen-address=${address}`, '--log.level=warn'],
    path.join(folder, 'prometheus.log'),
  );
  const isReady = async (): Promise<boolean> =>
    await fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitFor('Prometheus gets ready', isReady, { timeoutMs: 60_000, program, signal });
  return {
    url,
    query: async (query) => {
      const answer = await fetch(`${url}/api/v1/query?${new URLSearchParams({ query }).toString()}`);
      const body = (await answer.json()) as { error?: string; data?: { result: readonly PrometheusSample[] } };
      if (body.data === undefined) throw new Error(`${query}: ${body.error ?? `HTTP ${answer.status}`}`);
      return body.data.result;
    },
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  };
}
