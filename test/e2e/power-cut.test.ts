/**
 * The power fails in the middle of a shutdown, at moments drawn at random over the whole of it. After each boot the
 * manifests are there again, each once and unchanged. NODEMAINT_E2E_POWER_CUTS is how many, NODEMAINT_E2E_SEED draws the
 * same ones again. The gate leaves it out: a cut takes a minute.
 */
import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Machine } from './machine/machine.ts';
import { allBack } from './machine/shutdown-case.ts';
import { MANIFESTS, standaloneNode } from './machine/standalone-node.ts';

const CUTS = Number(process.env['NODEMAINT_E2E_POWER_CUTS'] ?? '50');
const SEED = Number(process.env['NODEMAINT_E2E_SEED'] ?? Date.now() % 1_000_000);
const STOP_SEC = 2;
const BACK_MS = 300_000;
const LEFT_BEHIND = 'find /etc/kubernetes/nodemaint-parked /etc/kubernetes/manifests -type f | sort';

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
function draw(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** How long a shutdown takes that nothing disturbs, in milliseconds, until the machine has lost its shell. */
async function spanOf(machine: Machine): Promise<number> {
  const before = await machine.bootId();
  const began = performance.now();
  await machine.must('systemctl reboot');
  while ((await machine.ssh('true', { timeoutMs: 5_000 }).catch(() => ({ code: 255 }))).code === 0)
    await setTimeout(200);
  const span = performance.now() - began;
  await machine.waitForReboot(before, BACK_MS);
  return span;
}

async function cutAt(machine: Machine, moment: number, manifests: string): Promise<string> {
  await machine.must('systemctl reboot --no-block');
  await setTimeout(moment);
  await machine.powerCut();
  await machine.boot();
  const found = (await machine.must(LEFT_BEHIND)).trim().split('\n');
  await allBack(machine);
  const what = `power cut ${Math.round(moment)} ms after systemctl reboot (seed ${SEED})`;
  assert.equal(await machine.must(MANIFESTS), manifests, what);
  assert.equal((await machine.must(LEFT_BEHIND)).trim().split('\n').length, 2, what);
  const parked = found.filter((file) => file.includes('nodemaint-parked')).map((file) => file.split('/').at(-1));
  return `${what}: at the first look ${parked.length === 0 ? 'nothing is parked' : `${parked.join(', ')} parked`}`;
}

describe('a power cut of a real machine in the middle of its shutdown', () => {
  it(`each manifest is there once, unchanged, after ${CUTS} power cuts`, async () => {
    await using machine = await standaloneNode({ stopSec: STOP_SEC }, new AbortController().signal);
    const manifests = await machine.must(MANIFESTS);
    const span = await spanOf(machine);
    await allBack(machine);
    console.log(`a shutdown takes ${Math.round(span)} ms; seed ${SEED}`);
    const next = draw(SEED);
    for (let count = 1; count <= CUTS; count += 1)
      console.log(`${count}: ${await cutAt(machine, next() * span, manifests)}`);
  });
});
