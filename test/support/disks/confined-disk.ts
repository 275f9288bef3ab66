import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import type { TestContext } from 'node:test';
import { createDisk, type Disk } from '../../../src/static-pods/disk/disk.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');
const UNIT = path.join(ROOT, 'systemd', 'system', 'nodemaint.service');

/** What the child is asked, and what it answers. */
export interface DiskCall {
  readonly id: number;
  readonly method: keyof Disk;
  readonly args: readonly unknown[];
}
export type DiskAnswer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: { readonly message: string; readonly code: unknown } };

/** The capabilities of the agent's unit, as setpriv writes them: `+chown`. */
function capabilitiesOfUnit(): readonly string[] {
  const [, list] = /^CapabilityBoundingSet=(.+)$/m.exec(readFileSync(UNIT, 'utf8')) ?? [];
  if (list === undefined) throw new Error(`${UNIT} has no CapabilityBoundingSet`);
  return list.split(/\s+/).map((name) => `+${name.replace(/^CAP_/, '').toLowerCase()}`);
}

function startChild(): ChildProcess {
  const bounds = ['-all', ...capabilitiesOfUnit()].join(',');
  const confined = [`--bounding-set=${bounds}`, '--inh-caps=-all', '--no-new-privs', '--'];
  const program = [process.execPath, '--disable-warning=ExperimentalWarning'];
  const script = path.join(import.meta.dirname, 'confined-disk-child.ts');
  return spawn('setpriv', [...confined, ...program, script], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

/** The machine's disk as the installed agent has it: by a process with the capabilities of its unit and no others. */
export function createConfinedDisk(t: TestContext): Disk {
  const child = startChild();
  t.after(() => child.kill('SIGKILL'));
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let calls = 0;
  child.on('message', (answer: DiskAnswer) => {
    const call = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('error' in answer) call?.reject(Object.assign(new Error(answer.error.message), { code: answer.error.code }));
    else call?.resolve(answer.value);
  });
  child.on('exit', () => {
    for (const call of waiting.values()) call.reject(new Error('the confined process has ended'));
  });
  const methods = Object.keys(createDisk()) as (keyof Disk)[];
  const ask = (method: keyof Disk, args: readonly unknown[]): Promise<unknown> => {
    const call = Promise.withResolvers<unknown>();
    calls += 1;
    waiting.set(calls, call);
    child.send({ id: calls, method, args } satisfies DiskCall);
    return call.promise;
  };
  return Object.fromEntries(
    methods.map((method) => [method, (...args: unknown[]) => ask(method, args)]),
  ) as unknown as Disk;
}
