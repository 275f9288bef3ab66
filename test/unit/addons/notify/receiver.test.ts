import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createPlain, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { readReceiver, send } from '../../../../src/addons/notify/receiver.ts';
import { type IssuedCertificate, issueServingCertificate } from '../../../../src/kube/certificate/x509.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const never = new AbortController().signal;

describe('the receiver of messages', () => {
  let folder: string;
  let certificate: IssuedCertificate;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'nodemaint-receiver-'));
    const now = Date.now();
    certificate = await issueServingCertificate({
      hosts: ['localhost'],
      notBefore: now - 60_000,
      notAfter: now + 3_600_000,
    });
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  const listening = async (server: Server): Promise<AsyncDisposable & { readonly port: number }> => {
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const { port } = server.address() as AddressInfo;
    return { port, [Symbol.asyncDispose]: async () => void (await new Promise((done) => server.close(done))) };
  };
  const secure = async (answer: Answer) =>
    await listening(createServer({ cert: certificate.certificate, key: certificate.key }, answer));
  const message = { id: 'u/begun', body: '{"text":"ü"}' };

  it('a message is sent over TLS with the token, an id and its length, to a receiver whose certificate is verified', async () => {
    let seen: { headers: IncomingMessage['headers']; body: string } | undefined;
    await using server = await secure((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        seen = { headers: request.headers, body };
        response.writeHead(204).end();
      });
    });
    const url = new URL(`https://localhost:${server.port}/services/x`);
    await send({ url, token: 'secret', ca: certificate.authority }, message, never);
    assert.equal(seen?.body, message.body);
    assert.equal(seen.headers.authorization, 'Bearer secret');
    assert.equal(seen.headers['idempotency-key'], 'u/begun');
    assert.equal(seen.headers['content-length'], '13');
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      await assert.rejects(send({ url }, message, never), { code: 'MESSAGE_FAILED' }, 'an authority that nobody knows');
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
  });

  it('a refusal and a redirect are failures, and an answer without end is not read', async () => {
    let status = 500;
    let path: string | undefined;
    await using server = await secure((request, response) => {
      path = request.url;
      response.writeHead(status, { location: '/elsewhere' });
      const timer = setInterval(() => response.write('x'.repeat(1000)), 5);
      response.on('close', () => {
        clearInterval(timer);
      });
    });
    const receiver = { url: new URL(`https://localhost:${server.port}/a`), ca: certificate.authority };
    await assert.rejects(send(receiver, message, never), /answered with the status 500/);
    status = 302;
    await assert.rejects(send(receiver, message, never), /answered with the status 302/);
    assert.equal(path, '/a');
    status = 200;
    await send(receiver, message, never);
  });

  it('the sending ends with its signal', async () => {
    await using server = await listening(createPlain(() => undefined));
    const stop = new AbortController();
    const sending = send({ url: new URL(`http://localhost:${server.port}/`) }, message, stop.signal);
    stop.abort();
    await assert.rejects(sending, { code: 'MESSAGE_FAILED' });
  });

  it('the files of the Secret are read and checked, and no message has what is secret', async () => {
    const write = async (name: string, text: string): Promise<void> => {
      await writeFile(path.join(folder, name), text);
    };
    await assert.rejects(readReceiver(folder), /url has no address; write the https address of the receiver into it/);
    await write('url', 'hooks/secret-word');
    await assert.rejects(
      readReceiver(folder),
      (error: Error) => /url is no address/.test(error.message) && !/secret/.test(error.message),
    );
    await write('url', 'http://hooks.example.com/secret-word');
    await assert.rejects(readReceiver(folder), /must begin with https:\/\//);
    await write('url', 'https://hooks.example.com/x\n');
    assert.equal((await readReceiver(folder)).url.href, 'https://hooks.example.com/x');
    await write('token', 'a b');
    await assert.rejects(readReceiver(folder), /token is no token/);
    await write('token', 'ab\n');
    await write('template', '{"text": "{{texts}}"}');
    await assert.rejects(readReceiver(folder), /template: there is no \{\{texts\}\}/);
    await write('template', '{"text": "{{text}}"}');
    const { token, template } = await readReceiver(folder);
    assert.deepEqual([token, template], ['ab', '{"text": "{{text}}"}']);
  });
});
