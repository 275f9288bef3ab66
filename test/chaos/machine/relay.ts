import { readFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The way of one client to the API server, which the test can cut. */
export interface Relay extends AsyncDisposable {
  /** The client's kubeconfig; its server is the relay. */
  readonly kubeconfig: string;
  /** Ends all connections, and refuses new ones for `ms`. */
  cut(ms: number): Promise<void>;
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { server: string } }[];
}

/** Starts a relay for the client of `kubeconfig`. It passes bytes on, so that the API server sees the client itself. */
export async function startRelay(kubeconfig: string): Promise<Relay> {
  const config = JSON.parse(await readFile(kubeconfig, 'utf8')) as Kubeconfig;
  const cluster = config.clusters[0]?.cluster ?? { server: '' };
  const target = Number(new URL(cluster.server).port);
  const open = new Set<net.Socket>();
  let isCut = false;
  const server = net.createServer((client) => {
    if (isCut) {
      client.resetAndDestroy();
      return;
    }
    const upstream = net.connect(target, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  cluster.server = `https://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
  const file = `${kubeconfig}.relay`;
  await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  const endAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    kubeconfig: file,
    cut: async (ms) => {
      isCut = true;
      endAll();
      await sleep(ms);
      isCut = false;
    },
    [Symbol.asyncDispose]: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        endAll();
      });
    },
  };
}
