/** Bytes on sockets: the message bus, the container runtime, the control socket on both sides. */
import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { askAgent } from '../../../src/agent/control/client.ts';
import { controlSocketPath } from '../../../src/agent/control/protocol.ts';
import { openControlSocket } from '../../../src/agent/control/socket.ts';
import { createContainerRuntime } from '../../../src/host/cri/runtime.ts';
import { openBusConnection } from '../../../src/host/dbus/connection.ts';
import { mutatedBytes, mutatedText } from '../mutate.ts';
import { assertFinite, attempt, type FuzzInput, type FuzzTarget, textOf } from '../target.ts';

function bytesOf(input: FuzzInput): Buffer {
  return Buffer.from(textOf(input), 'latin1');
}

async function listen(server: Server, place: string): Promise<void> {
  server.listen(place);
  await once(server, 'listening');
}

/** A message of D-Bus, little endian, with one string as its body (D-Bus specification, "Message Format"). */
function busMessage(
  type: number,
  fields: readonly (readonly [number, string, string | number])[],
  text: string,
): Buffer {
  const pad = (buffer: Buffer, to: number): Buffer =>
    Buffer.concat([buffer, Buffer.alloc((to - (buffer.length % to)) % to)]);
  const number = (value: number): Buffer => {
    const buffer = Buffer.alloc(4);
    buffer.writeUInt32LE(value);
    return buffer;
  };
  const string = (value: string): Buffer => Buffer.concat([number(value.length), Buffer.from(`${value}\0`)]);
  let array = Buffer.alloc(0);
  for (const [code, signature, value] of fields) {
    const head = Buffer.from([code, signature.length, ...Buffer.from(signature), 0]);
    array = Buffer.concat([pad(array, 8), head]);
    if (signature === 'g')
      array = Buffer.concat([array, Buffer.from([String(value).length]), Buffer.from(`${value}\0`)]);
    else array = Buffer.concat([pad(array, 4), typeof value === 'number' ? number(value) : string(value)]);
  }
  const body = string(text);
  const head = Buffer.concat([
    Buffer.from([0x6c, type, 1, 1]),
    number(body.length),
    number(9),
    number(array.length),
    array,
  ]);
  return Buffer.concat([pad(head, 8), body]);
}

const HELLO_REPLY = busMessage(
  2,
  [
    [5, 'u', 1],
    [6, 's', ':1.7'],
    [7, 's', 'org.freedesktop.DBus'],
    [8, 'g', 's'],
  ],
  ':1.7',
);
const BUS_SIGNAL = busMessage(
  4,
  [
    [1, 'o', '/org/freedesktop/login1'],
    [2, 's', 'org.freedesktop.login1.Manager'],
    [3, 's', 'PrepareForShutdown'],
    [7, 's', ':1.3'],
    [8, 'g', 's'],
  ],
  'reboot',
);

/** A bus that lets everybody in, says Hello, and then the input. */
const DBUS: FuzzTarget = {
  name: 'dbus-bytes',
  inputs: mutatedBytes(BUS_SIGNAL, HELLO_REPLY, Buffer.concat([BUS_SIGNAL, BUS_SIGNAL])),
  open: async (folder) => {
    const place = path.join(folder, 'bus');
    let next: Buffer = Buffer.alloc(0);
    const server = createServer((socket: Socket) => {
      let text = '';
      socket.on('error', () => socket.destroy());
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
        if (/AUTH [^\r]*\r\n$/.test(text)) socket.write('OK 0123456789abcdef\r\n');
        if (text.endsWith('NEGOTIATE_UNIX_FD\r\n')) socket.write('ERROR\r\n');
        if (!text.includes('BEGIN\r\n') || !text.includes('Hello')) return;
        text = '';
        socket.write(HELLO_REPLY);
        socket.end(next);
      });
    });
    await listen(server, place);
    return {
      run: async (input) => {
        next = bytesOf(input);
        const closed = Promise.withResolvers<void>();
        const onSignal = ({ body }: { readonly body: readonly unknown[] }): void => {
          assertFinite(body.length, 'body');
        };
        const onClosed = (): void => {
          closed.resolve();
        };
        const connection = await openBusConnection(
          `unix:path=${place}`,
          { onSignal, onClosed },
          AbortSignal.timeout(5_000),
        ).catch(() => undefined);
        if (connection === undefined) return;
        await closed.promise;
      },
      close: () => {
        server.close();
      },
    };
  },
};

/** Protobuf: a sandbox and a container as containerd sends them. */
const SANDBOXES = Buffer.from('0a2e0a027331121a0a0170120175 1a0764656661756c74'.replaceAll(' ', ''), 'hex');
const CONTAINERS = Buffer.from(
  '0a1e0a026331120273311a030a01632204 0a02696d28013080f092cbdd08'.replaceAll(' ', ''),
  'hex',
);

const CRI: FuzzTarget = {
  name: 'cri',
  inputs: mutatedBytes(SANDBOXES, CONTAINERS),
  open: async (folder) => {
    let next: Buffer = Buffer.alloc(0);
    const server = new GrpcServer();
    const serialize = (value: unknown): Buffer => value as Buffer;
    const method = (name: string): object => ({
      path: `/runtime.v1.RuntimeService/${name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: serialize,
      requestDeserialize: serialize,
      responseSerialize: serialize,
      responseDeserialize: serialize,
    });
    const names = ['Version', 'ListPodSandbox', 'ListContainers', 'StopContainer', 'StopPodSandbox'];
    const answer = (_call: unknown, reply: (error: null, value: Buffer) => void): void => {
      reply(null, next);
    };
    server.addService(
      Object.fromEntries(names.map((name) => [name, method(name)])) as never,
      Object.fromEntries(names.map((name) => [name, answer])) as never,
    );
    const place = `unix://${path.join(folder, 'cri.sock')}`;
    await new Promise<void>((resolve, reject) => {
      server.bindAsync(place, ServerCredentials.createInsecure(), (error) => {
        if (error === null) resolve();
        else reject(error);
      });
    });
    const runtime = createContainerRuntime(place);
    const signal = new AbortController().signal;
    return {
      run: async (input) => {
        next = bytesOf(input);
        assertFinite(await attempt(() => runtime.livePods(signal)), 'pods');
        await attempt(() => runtime.stopPod('s1', 1, signal));
      },
      close: () => {
        runtime.close();
        server.forceShutdown();
      },
    };
  },
};

const CONTROL_SERVER: FuzzTarget = {
  name: 'control-server',
  inputs: mutatedText(
    '{"verb":"status"}\n',
    '{"verb":"trigger","reason":"x","deadlineMs":5}\n',
    '{"verb":"park","file":"a.yaml"}\n',
  ),
  open: async (folder) => {
    const place = controlSocketPath(folder);
    const server = await openControlSocket(folder, (request) => {
      if ('file' in request && /[/\0]/.test(request.file)) throw new Error(`took the file ${request.file}`);
      return Promise.resolve({ verb: request.verb });
    });
    return {
      run: async (input) => {
        const socket = createConnection(place);
        socket.on('error', () => undefined);
        socket.resume();
        socket.end(textOf(input));
        await once(socket, 'close');
      },
      close: async () => {
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

const CONTROL_CLIENT: FuzzTarget = {
  name: 'control-client',
  inputs: mutatedText('{"node":"n1","phase":{"kind":"watching"}}\n', '{"error":"no"}\n', ''),
  open: async (folder) => {
    const place = controlSocketPath(folder);
    let next = '';
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', () => socket.end(next));
    });
    await listen(server, place);
    return {
      run: async (input) => {
        next = textOf(input);
        await attempt(() => askAgent(folder, { verb: 'status' }));
      },
      close: () => {
        server.close();
      },
    };
  },
};

/** The targets that are streams of bytes. */
export const STREAM_TARGETS: readonly FuzzTarget[] = [DBUS, CRI, CONTROL_SERVER, CONTROL_CLIENT];
