import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { freePort } from '../../control-plane/port.ts';
import { buildEvictionRig } from '../../support/rigs/eviction.ts';
import { leaseOf, type Replica, startReplica, untilLeads } from '../../support/rigs/leader.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Where the flood comes from: not the address of the probes. */
const FLOODER = '127.0.0.2';
const FLOOD_MS = 12_000;
/** Longer than the probes of the Deployment wait: the flood takes the processors of this machine too. */
const MAX_PROBE_MS = 10_000;
const MAX_MEMORY_MIB = 400;

/** The memory of a process, in MiB. */
async function memoryOf({ program }: Replica): Promise<number> {
  const status = await readFile(path.join('/proc', String(program.pid), 'status'), 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** Sends headers one byte at a time, for ever, on new connections whenever old ones are closed. */
function floodSlowly(port: number, count: number, stop: AbortSignal): void {
  for (let index = 0; index < count; index += 1) {
    const open = (): void => {
      if (stop.aborted) return;
      const socket: Socket = connect({ port, host: '127.0.0.1', localAddress: FLOODER });
      const timer = setInterval(() => socket.write('G'), 200);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearInterval(timer);
        setTimeout(open, 1_000);
      });
      stop.addEventListener('abort', () => socket.destroy(), { once: true });
    };
    open();
  }
}

/** Posts a large body again and again, in so many loops at once; or all of it but its end, which never comes. */
function floodWithBodies(port: number, count: number, body: string, kind: 'whole' | 'held', stop: AbortSignal): void {
  const options = { method: 'POST', rejectUnauthorized: false, localAddress: FLOODER };
  const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
  const url = `https://127.0.0.1:${port}/validate-evictionrequest-status`;
  const post = (): void => {
    if (stop.aborted) return;
    const call = httpsRequest(url, { ...options, headers, agent: false, signal: stop }, (response) =>
      response.resume(),
    );
    call.on('error', () => undefined);
    call.on('close', () => setTimeout(post, kind === 'whole' ? 200 : 3_000));
    if (kind === 'whole') call.end(body);
    else call.write(body.slice(0, -1));
  };
  for (let index = 0; index < count; index += 1) post();
}

/** Asks for metrics again and again. */
function floodWithScrapes(port: number, count: number, stop: AbortSignal): void {
  const scrape = (): void => {
    if (stop.aborted) return;
    const url = `http://127.0.0.1:${port}/metrics`;
    const call = httpRequest(url, { localAddress: FLOODER, agent: false, signal: stop }, (answer) => answer.resume());
    call.on('error', () => undefined);
    call.on('close', () => setTimeout(scrape, 5));
    call.end();
  };
  for (let index = 0; index < count; index += 1) scrape();
}

describe('a flood from one address on the metrics and the webhook of the leader', () => {
  it('the flood stops neither the renewal of the Lease nor the probes, and takes bounded memory', async (context) => {
    await using rig = await buildEvictionRig();
    const webhookPort = await freePort();
    await using replica = await startReplica(rig, 'flooded', [`--webhook-port=${webhookPort}`]);
    await untilLeads(replica);
    const metricsPort = Number(new URL(replica.url).port);
    const serves = (): Promise<boolean> =>
      new Promise((resolve) => {
        const socket = connect({ port: webhookPort, host: '127.0.0.1' }, () => {
          socket.destroy();
          resolve(true);
        });
        socket.on('error', () => resolve(false));
      });
    await waitFor('the webhook is served', serves, { timeoutMs: 20_000 });
    const before = await leaseOf(rig);
    const flooding = new AbortController();
    const body = JSON.stringify({ kind: 'AdmissionReview', padding: Array.from({ length: 500_000 }, () => 'abc') });
    floodSlowly(metricsPort, 300, flooding.signal);
    floodSlowly(webhookPort, 300, flooding.signal);
    floodWithBodies(webhookPort, 150, body, 'held', flooding.signal);
    floodWithBodies(webhookPort, 10, body, 'whole', flooding.signal);
    floodWithScrapes(metricsPort, 8, flooding.signal);
    const begun = Date.now();
    let [mostMemory, longestProbe] = [0, 0];
    while (Date.now() - begun < FLOOD_MS) {
      const asked = Date.now();
      const ready = await fetch(`${replica.url}/readyz`, { signal: AbortSignal.timeout(MAX_PROBE_MS) });
      assert.equal(ready.status, 200);
      longestProbe = Math.max(longestProbe, Date.now() - asked);
      mostMemory = Math.max(mostMemory, await memoryOf(replica));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    flooding.abort();
    context.diagnostic(`probes within ${longestProbe} ms; ${Math.round(mostMemory)} MiB`);
    // Its own word for it: this process, which makes the flood, sees the renewals late.
    assert.doesNotMatch(await readFile(path.join(rig.folder, 'flooded.log'), 'utf8'), /lost the lease/);
    const after = await leaseOf(rig);
    assert.equal(after?.spec?.holderIdentity, before?.spec?.holderIdentity);
    assert.equal(after?.spec?.leaseTransitions, before?.spec?.leaseTransitions, 'it led all the time');
    assert.notEqual(after?.spec?.renewTime, before?.spec?.renewTime);
    assert.ok(mostMemory < MAX_MEMORY_MIB, `${mostMemory} MiB`);
  });
});
