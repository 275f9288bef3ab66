/** Floods a connection of a bus with unrequested signals: `bus-flooder.ts ADDRESS NAME COUNT STRINGS`. */
import { createRequire } from 'node:module';
import type { Duplex } from 'node:stream';
import process from 'node:process';
import { type Message, MessageType, sessionBus } from 'dbus-next';

const { marshall } = createRequire(import.meta.url)('dbus-next/lib/message') as {
  marshall(message: Partial<Message> & { serial: number }): readonly [Buffer];
};
const [busAddress = '', destination = '', count = '1', strings = '1'] = process.argv.slice(2);
const bus = sessionBus({ busAddress });
bus.on('connect', () => {
  const { stream } = (bus as unknown as { readonly _connection: { readonly stream: Duplex } })._connection;
  const signal = { type: MessageType.SIGNAL, flags: 0, destination, path: '/a', interface: 'a.b', member: 'C' };
  // Made once: to make one takes longer than to read it.
  const body = [Array.from({ length: Number(strings) }, () => '')];
  const [bytes] = marshall({ ...signal, serial: 9, signature: 'as', body });
  for (let sent = 0; sent < Number(count); sent += 1) stream.write(bytes);
  stream.end(() => {
    console.log(`sent ${count} of ${bytes.length} bytes`);
    bus.disconnect();
  });
});
