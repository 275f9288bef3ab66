/**
 * A machine that is the only control plane of its own cluster reboots, and loses its power in the middle of a reboot. The gate
 * leaves it out, for it takes a quarter of an hour in software; NODEMAINT_E2E_REBOOTS is how often it does both; once unless told.
 */
import { rm } from 'node:fs/promises';
import process from 'node:process';
import { describe, it } from 'node:test';
import { freePort } from '../control-plane/port.ts';
import { makeTestFolder } from '../support/folder.ts';
import { machineImage } from './machine/image.ts';
import { bootMachine } from './machine/machine.ts';
import { cutPower, makeSoleCluster, MEMORY_MIB, rebootInOrder, SETTLE_MS } from './machine/sole-cluster.ts';
import { PORT } from './machine/sole-control-plane.ts';

const REBOOTS = Number(process.env['NODEMAINT_E2E_REBOOTS'] ?? '1');

const say = (text: string): void => console.log(`${new Date().toISOString()} ${text}`);

describe('a machine that is the only control plane of its cluster', () => {
  it(`the machine reboots by systemctl reboot and comes back by itself, and so it does when its power is cut meanwhile, ${REBOOTS} times in a row`, async () => {
    const signal = AbortSignal.timeout(2_300_000 + 2 * REBOOTS * SETTLE_MS);
    await using stack = new AsyncDisposableStack();
    const folder = await makeTestFolder('sole');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const port = await freePort();
    const equipment = { memoryMib: MEMORY_MIB, ports: new Map([[port, PORT]]) };
    const machine = stack.use(await bootMachine(await machineImage(signal), equipment, signal));
    say('machine up');
    const cluster = await makeSoleCluster(machine, { port, folder }, say, signal);
    for (let count = 1; count <= REBOOTS; count += 1) {
      const { journal, shellSec, orderSec } = await rebootInOrder(cluster);
      console.log(journal.join('\n'));
      say(`reboot ${count}: shell back after ${shellSec} s, all in order after ${orderSec} s`);
      // At any moment of a shutdown or a boot.
      const cutAfterSec = Math.round(Math.random() * shellSec);
      const seconds = await cutPower(cluster, cutAfterSec);
      say(`power cut ${count}, ${cutAfterSec} s after the beginning: all in order after ${seconds} s`);
    }
  });
});
