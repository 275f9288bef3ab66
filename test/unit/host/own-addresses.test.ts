import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, it } from 'node:test';
import { isOwnAddress, isBoundHere } from '../../../src/host/own-addresses.ts';

const { signal } = new AbortController();

describe('the addresses of this machine', () => {
  it('an address of the loopback network or of an interface belongs to this machine', async () => {
    const ofInterfaces = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    const own = ofInterfaces.filter(({ address }) => !address.startsWith('fe80:')).map(({ address }) => address);
    assert.ok(own.length > 0);
    for (const address of [...own, '127.9.9.9', '::1'])
      assert.equal(await isOwnAddress(address, signal), true, address);
  });

  for (const address of ['192.0.2.7', '2001:db8::7', 'localhost', 'node-a', '', '127.0.0.1:80', '300.1.1.1']) {
    it(`"${address}" does not`, async () => {
      assert.equal(await isOwnAddress(address, signal), false);
    });
  }

  it('a server is this machine by the addresses of its host', async () => {
    assert.equal(await isBoundHere(new URL('https://[::1]:6443'), signal), true);
    assert.equal(await isBoundHere(new URL('https://192.0.2.7:6443'), signal), false);
  });

  it('it rejects where the caller gives up', async () => {
    await assert.rejects(
      isBoundHere(new URL('https://api.invalid'), AbortSignal.abort(new Error('it ends'))),
      /it ends/,
    );
    await assert.rejects(isOwnAddress('192.0.2.7', AbortSignal.abort(new Error('it ends'))), /it ends/);
  });
});
