/** Prints where the kubelet with this kubeconfig runs, for the tests: `find-kubelet-home.ts BUS_ADDRESS KUBECONFIG`. */
import process from 'node:process';
import { createSystemClock } from '../../src/host/clock.ts';
import { createSystemBus } from '../../src/host/dbus/bus.ts';
import { createKubeletFinder } from '../../src/host/kubelet/finder.ts';
import { Systemd } from '../../src/host/systemd/manager.ts';
import { SILENT_LOG } from '../support/silent-log.ts';

const [, , address = '', kubeconfig = ''] = process.argv;
const lifetime = new AbortController();
const bus = createSystemBus({ address, log: SILENT_LOG, clock: createSystemClock() }, lifetime.signal);
const finder = createKubeletFinder({
  scope: { kubeconfig, nodeName: 'none' },
  systemd: new Systemd(bus),
  unit: undefined,
  onRefused: (refused) => console.error(refused),
});
// While the units start, there may be several kubelets or none.
const home = await finder.home(AbortSignal.timeout(20_000)).catch(() => undefined);
lifetime.abort();
if (home !== undefined) process.stdout.write(JSON.stringify(home));
