/** The least that hears of a shutdown: a bare program with dbus-next that prints a line at PrepareForShutdown(true). */
import process from 'node:process';
import { Message, sessionBus } from 'dbus-next';

const bus = sessionBus({ busAddress: process.env['DBUS_SYSTEM_BUS_ADDRESS'] ?? '' });
bus.on('message', (message: Message) => {
  if (message.member === 'PrepareForShutdown' && message.body[0] === true) process.stdout.write('heard\n');
});
await bus.call(
  new Message({
    destination: 'org.freedesktop.DBus',
    path: '/org/freedesktop/DBus',
    interface: 'org.freedesktop.DBus',
    member: 'AddMatch',
    signature: 's',
    body: ["type='signal',interface='org.freedesktop.login1.Manager',member='PrepareForShutdown'"],
  }),
);
process.stdout.write('ready\n');
