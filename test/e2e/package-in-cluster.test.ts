/**
 * The .deb on a real node of a cluster, with its own systemd, containerd and kubelet in a container: installed, upgraded in
 * the middle of a reboot's drain, kept while a manifest is parked, removed and purged.
 */
import assert from 'node:assert/strict';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { deployment, staticPod } from '../node/pods.ts';
import { installManifests, startNodemaint } from '../support/commands/nodemaint.ts';
import { makeTestFolder } from '../support/folder.ts';
import { makeDebPair, NEXT_VERSION } from '../support/packages.ts';
import { waitFor } from '../support/wait-for.ts';
import { type ClusterNode, HOST_FROM_NODES, startClusterNode } from '../systemd/cluster-node.ts';
import { SHARE } from '../systemd/container.ts';
import { systemRoot } from '../systemd/roots.ts';
import { AGENT_WATCHES } from './machine/install.ts';

const NODE = 'node-p';
const WITNESS = '/var/witness';
const MANIFEST = '/etc/kubernetes/manifests/low.yaml';
const WAIT_MS = 240_000;
/** All files but those that other programs write while they run. */
const ALL_FILES =
  "find /etc /usr /opt /srv /root /var -xdev ! -path '/var/lib/containerd/*' ! -path '/var/lib/kubelet/*' ! -path '/var/lib/systemd/*' ! -path '/var/log/*' ! -path '/var/tmp/*' ! -path '/var/witness/*' | sort";
const IS_HELD = "systemd-inhibit --list --no-pager --no-legend | grep -q '^nodemaint .*delay'";
const WATCH_LOCK = `while ! [ -e ${WITNESS}/stop ]; do if ${IS_HELD}; then echo held; else echo lost; fi >> ${WITNESS}/lock; sleep 0.5; done`;

describe('the .deb on a node of a cluster', () => {
  const { signal } = new AbortController();
  const stack = new AsyncDisposableStack();
  let controlPlane: ControlPlane;
  let node: ClusterNode;
  let files: string;
  let manifest: string;

  const must = (command: string, input?: string): Promise<string> => node.system().must(command, input);
  const until = (condition: string): Promise<void> =>
    waitFor(condition, async () => (await node.system().run(condition)).code === 0, { timeoutMs: WAIT_MS });
  const pods = async (): Promise<number> => {
    const running = ['get', 'pods', '-A', '--field-selector=status.phase=Running', '-o', 'name'];
    return (await controlPlane.kubectl(running)).split('\n').filter(Boolean).length;
  };

  before(async () => {
    const folder = await makeTestFolder('package-in-cluster');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const debs = await makeDebPair(folder, signal);
    const reached = { bindAddress: '0.0.0.0', extraSans: [HOST_FROM_NODES] };
    controlPlane = stack.use(await startControlPlane(reached, signal));
    const controller = await installManifests(controlPlane);
    stack.use(startNodemaint(['controller', '--kubeconfig', controller], path.join(folder, 'controller.log')));
    const own = path.join(folder, NODE);
    await mkdir(own);
    const plan = { controlPlane, name: NODE, number: 11, folder: own, root: await systemRoot('12', signal) };
    node = stack.use(await startClusterNode(plan, signal));
    for (const [name, file] of Object.entries(debs)) await copyFile(file, path.join(own, 'share', `${name}.deb`));
    await must(`mkdir -p ${WITNESS}`);
    const low = staticPod('low', { stopsAt: 'go', graceSec: 900, witness: WITNESS });
    await must(`cat > /root/low && mv /root/low ${MANIFEST}`, JSON.stringify(low));
    const web = deployment('web', { stopSec: 2, witness: WITNESS });
    await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(web));
    await waitFor('both pods run', async () => (await pods()) === 2, { timeoutMs: WAIT_MS });
    manifest = await must(`cat ${MANIFEST}`);
    files = await must(ALL_FILES);
  });

  after(() => stack.disposeAsync());

  it('the .deb is installed with the kubeconfig and the runtime of the running kubelet, and the agent holds the lock', async (t) => {
    const said = await must(`dpkg -i ${SHARE}/first.deb`);
    assert.match(said, /is installed, runs, and holds the lock/);
    await until(`${IS_HELD} && ${AGENT_WATCHES}`);
    t.diagnostic(await must("grep -v '^#' /etc/nodemaint/config.yaml"));
  });

  it('the .deb is upgraded in the middle of a drain: the lock is held all the time, nothing is removed, and the drain goes on', async (t) => {
    await must('systemctl reboot');
    await until(`grep -q 'low TERM' ${WITNESS}/log`);
    const watched = node.system().run(WATCH_LOCK);
    await must(`dpkg -i ${SHARE}/next.deb`);
    await must(`touch ${WITNESS}/stop`);
    await watched;
    const looks = (await must(`cat ${WITNESS}/lock`)).trim().split('\n');
    t.diagnostic(`the lock was held at ${looks.length} looks`);
    assert.deepEqual(new Set(looks), new Set(['held']));
    await must("tail -n 1 /usr/lib/nodemaint/nodemaint.cjs | grep -qx '// next'");
    await until('nodemaint status -o json | grep -q draining');
    const refused = await node.system().run('dpkg -r nodemaint');
    assert.notEqual(refused.code, 0);
    assert.match(refused.stdout + refused.stderr, /these manifests are parked/);

    await must(`${IS_HELD} && touch ${WITNESS}/go`);
    await waitFor('the node goes down', () => Promise.resolve(node.system().hasEnded()), { timeoutMs: WAIT_MS });
    await node.boot();
    assert.equal(await must(`cat ${WITNESS}/log`), 'web TERM\nweb END\nlow TERM\nlow END\n');
    await until(AGENT_WATCHES);
    assert.equal(await must(`cat ${MANIFEST}`), manifest);
    await waitFor('both pods run again', async () => (await pods()) === 2, { timeoutMs: WAIT_MS });
    const text = await must("dpkg-query -W -f '${Version} ${Status}' nodemaint");
    assert.match(text, new RegExp(`^${NEXT_VERSION} .* installed$`));
  });

  it('the .deb is removed and purged, and leaves nothing', async () => {
    await must('dpkg -r nodemaint');
    await must(`! ${IS_HELD} && test -e /etc/nodemaint/config.yaml && ! test -e /usr/lib/nodemaint`);
    await must('dpkg -P nodemaint');
    assert.equal(await must(ALL_FILES), files);
    assert.equal(await must(`cat ${MANIFEST}`), manifest);
    await must('! systemctl cat nodemaint.service');
  });
});
