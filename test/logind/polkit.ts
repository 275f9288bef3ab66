/** A polkit that allows everything to everybody, as the real one does for delay locks by default. */
import type { Message } from 'dbus-next';

export async function startPolkit(address: string): Promise<Disposable> {
  const { Message: Reply, sessionBus } = await import('dbus-next');
  const bus = sessionBus({ busAddress: address });
  bus.addMethodHandler((call: Message) => {
    if (call.member !== 'CheckAuthorization') return false;
    bus.send(Reply.newMethodReturn(call, '(bba{ss})', [[true, false, {}]]));
    return true;
  });
  await bus.requestName('org.freedesktop.PolicyKit1', 0);
  return { [Symbol.dispose]: () => bus.disconnect() };
}
