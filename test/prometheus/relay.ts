/** The metrics of a controller in pods at one address, whichever pods there are, for a Prometheus that finds no pods. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ControlPlane } from '../control-plane/control-plane.ts';

/** The relay. */
export interface ControllerRelay extends AsyncDisposable {
  /** HOST:PORT. */
  readonly address: string;
  /** The metrics of the replica that was found first. Rejects where none is ready. */
  read(): Promise<string>;
}

const REPLICAS = ['-n', 'nodemaint-system', 'get', 'pods', '-l', 'app.kubernetes.io/name=nodemaint-controller'];
const ADDRESSES =
  'jsonpath={range .items[*]}{.status.podIP},{.status.conditions[?(@.type=="Ready")].status},{.metadata.deletionTimestamp}{"\\n"}{end}';

/** Starts one on this machine, which must reach the pods of the nodes. */
export async function relayController({ kubectl }: ControlPlane): Promise<ControllerRelay> {
  const find = async (): Promise<string> => {
    const pods = (await kubectl([...REPLICAS, '-o', ADDRESSES])).split('\n').map((line) => line.split(','));
    const [address] = pods.find(([, isReady, deletedAt]) => isReady === 'True' && deletedAt === '') ?? [];
    if (address === undefined) throw new Error('no replica of the controller is ready');
    return address;
  };
  /** A replica that answered; to find one takes longer than a scrape may take. */
  let known: string | undefined;
  const read = async (): Promise<string> => {
    try {
      known ??= await find();
      const answer = await fetch(`http://${known}:8080/metrics`, { signal: AbortSignal.timeout(2_000) });
      return await answer.text();
    } catch (error) {
      known = undefined;
      throw error;
    }
  };
  const server = createServer((_request, response) => {
    void read().then(
      (text) => response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(text),
      (error: unknown) => response.writeHead(503).end(String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    read,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
