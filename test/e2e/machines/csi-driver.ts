/** Runs the stand-in of a CSI driver in its pod, until the pod is told to end. */
import { appendFile, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { startCsiDriver } from '../../support/stand-ins/csi-driver.ts';

const KUBELET = '/var/lib/kubelet';
const UNSTAGE_MS = 1_000;

const { NODE_NAME: nodeName = '', DRIVER: name = '', WITNESS: witness = '' } = process.env;
const note = async (what: string): Promise<void> => await appendFile(path.join(witness, 'log'), `${what}\n`);
// Those of the boot before.
await rm(path.join(KUBELET, 'plugins', name, 'csi.sock'), { force: true });
await rm(path.join(KUBELET, 'plugins_registry', `${name}-reg.sock`), { force: true });
const driver = await startCsiDriver({ name, nodeName, rootDir: KUBELET, note, beforeUnstage: () => delay(UNSTAGE_MS) });
await new Promise<void>((resolve) => process.once('SIGTERM', resolve));
await note('csi TERM');
await driver[Symbol.asyncDispose]();
await note('csi END');
