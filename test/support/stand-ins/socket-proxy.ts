import { rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';

/** What becomes of the connections: they pass, they stand still, or they break and no new one is taken. */
export type ProxyMode = 'open' | 'hang' | 'broken';

/** A Unix socket in front of another one. */
export interface SocketProxy extends AsyncDisposable {
  set(mode: ProxyMode): void;
}

/** Listens at `socket` and passes everything on to `target`. */
export async function startSocketProxy(socket: string, target: string): Promise<SocketProxy> {
  let mode: ProxyMode = 'open';
  const ends = new Set<Socket>();
  const keep = (end: Socket, other: Socket): void => {
    ends.add(end);
    end.on('data', (data) => other.write(data));
    // Both ends of a connection go together.
    end.on('error', () => other.destroy());
    end.on('close', () => {
      ends.delete(end);
      other.destroy();
    });
    if (mode === 'hang') end.pause();
  };
  const server = createServer((client) => {
    if (mode === 'broken') {
      client.destroy();
      return;
    }
    const upstream = connect(target);
    keep(client, upstream);
    keep(upstream, client);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, resolve);
  });
  return {
    set: (next) => {
      mode = next;
      for (const end of ends) {
        if (next === 'broken') end.destroy();
        else if (next === 'hang') end.pause();
        else end.resume();
      }
    },
    [Symbol.asyncDispose]: async () => {
      for (const end of ends) end.destroy();
      server.close();
      await rm(socket, { force: true });
    },
  };
}
