/**
 * Advice of `nodemaint doctor` on a node with its own systemd, containerd and kubelet in a container, followed to the letter:
 * the check that gave it is content afterwards, and the agent runs.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import type { Check } from '../../src/show/checks/node-checks.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { installManifests } from '../support/commands/nodemaint.ts';
import { makeTestFolder } from '../support/folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { type ClusterNode, HOST_FROM_NODES, startClusterNode } from '../systemd/cluster-node.ts';
import { CHECKOUT } from '../systemd/container.ts';
import { systemRoot } from '../systemd/roots.ts';
import { AGENT_WATCHES } from './machine/install.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
const CONFIG = '/etc/nodemaint/config.yaml';
const KUBELET = '/etc/kubernetes/kubelet.yaml';
const UNIT_DROP_IN = '/etc/systemd/system/nodemaint.service.d/override.conf';
const setKey = (line: string): string => `cp ${CONFIG} /root/before.yaml && echo '${line}' >> ${CONFIG}`;
const KEY_BACK = `cp /root/before.yaml ${CONFIG} && systemctl restart nodemaint`;
const RESTART_KUBELET = 'systemctl restart kubelet && sleep 2 && systemctl is-active kubelet';

/** One advice: the check that gives it, what makes it so, its words, and the commands that it tells one to run. */
interface Advice {
  readonly check: string;
  readonly provoke: string;
  readonly words: RegExp;
  /** What the advice says, where commands are not all of it. `found` is the check. */
  readonly follow: (found: Check) => string;
  /** Takes back what the test has changed beside. */
  readonly afterwards?: string;
}

const ADVICE: readonly Advice[] = [
  {
    check: 'kubelet unit',
    provoke: setKey('kubeletUnit: other.service'),
    words: /^correct the key "kubeletUnit", or remove it; then systemctl restart nodemaint$/,
    follow: () => KEY_BACK,
  },
  {
    check: 'static pods',
    provoke: `mkdir -p /etc/kubernetes/other && ${setKey('staticPodPath: /etc/kubernetes/other')}`,
    words: /^correct the key "staticPodPath"; then systemctl restart nodemaint$/,
    follow: () => KEY_BACK,
  },
  {
    check: 'static pods',
    provoke: `sed -i 's/"failSwapOn"/"staticPodURL":"http:\\/\\/127.0.0.1:9\\/pods","failSwapOn"/' ${KUBELET} && ${RESTART_KUBELET}`,
    words: /^serve these pods from files: .* remove the kubelet's staticPodURL$/,
    follow: () => `sed -i 's/"staticPodURL":"[^"]*",//' ${KUBELET} && ${RESTART_KUBELET}`,
  },
  {
    check: 'kubelet shutdown',
    provoke: `cp ${KUBELET} /root/kubelet.yaml && echo '{' > ${KUBELET}`,
    words: /^correct the kubelet's file that the message names$/,
    follow: ({ message }) => {
      assert.ok(message.includes(KUBELET), message);
      return `cp /root/kubelet.yaml ${KUBELET}`;
    },
  },
  {
    check: 'kubelet shutdown',
    provoke: 'systemctl stop kubelet',
    words: /^systemctl start kubelet; if its unit has another name/,
    follow: ({ fix }) => `${fix.split(';')[0]} && sleep 2`,
  },
  {
    check: 'lock',
    provoke: 'systemctl stop nodemaint',
    words: /^systemctl start nodemaint; then journalctl -u nodemaint$/,
    follow: ({ fix }) => fix.replace('; then', ' &&').concat(' -n 5'),
  },
  {
    check: 'lock delay',
    provoke:
      "mkdir -p /etc/systemd/logind.conf.d && printf '[Login]\\nInhibitDelayMaxSec=5\\n' > /etc/systemd/logind.conf.d/zzz.conf && systemctl kill -s HUP systemd-logind",
    words: /^remove it, or mask it by a link to \/dev\/null .*; then systemctl kill -s HUP systemd-logind$/,
    follow: ({ fix, message }) => {
      assert.ok(message.includes('/etc/systemd/logind.conf.d/zzz.conf'), message);
      return `rm /etc/systemd/logind.conf.d/zzz.conf && ${fix.split('; then ')[1]}`;
    },
  },
  {
    check: 'lock delay',
    provoke:
      "mkdir -p /etc/systemd/logind.conf.d && printf '[Login]\\nInhibitDelayMaxSec=5\\n' > /etc/systemd/logind.conf.d/zzz.conf && systemctl kill -s HUP systemd-logind && sleep 1 && rm /etc/systemd/logind.conf.d/zzz.conf",
    words: /^systemctl kill -s HUP systemd-logind$/,
    follow: ({ fix }) => fix,
  },
  {
    check: 'unit paths',
    provoke: `mkdir -p /opt/static && sed -i 's,/etc/kubernetes/manifests,/opt/static,' ${KUBELET} && ${RESTART_KUBELET}`,
    words: /^systemctl edit nodemaint, \[Service\] ReadWritePaths=.*; systemctl restart nodemaint$/,
    follow: ({ fix }) => {
      const lines = [...fix.matchAll(/ReadWritePaths="[^"]*"/g)].map(([line]) => line);
      const write = `mkdir -p ${path.dirname(UNIT_DROP_IN)} && printf '%s\\n' '[Service]' ${lines.map((line) => `'${line}'`).join(' ')} > ${UNIT_DROP_IN}`;
      return `${write} && systemctl daemon-reload && ${fix.split('; ').at(-1)}`;
    },
    afterwards: `rm ${UNIT_DROP_IN} && systemctl daemon-reload && sed -i 's,/opt/static,/etc/kubernetes/manifests,' ${KUBELET} && ${RESTART_KUBELET} && systemctl restart nodemaint`,
  },
  {
    check: 'other locks',
    provoke:
      'systemd-run --unit=mine systemd-inhibit --mode=delay --what=shutdown --who=mine sleep infinity && sleep 1',
    words: /^stop the programs that you do not want/,
    follow: ({ message }) => {
      assert.match(message, /mine/);
      return 'systemctl stop mine';
    },
  },
  {
    check: 'state directory',
    provoke:
      'mkdir -p /root/state && cp -a /var/lib/nodemaint/. /root/state && mount -t tmpfs -o size=64k,mode=0700 tmpfs /var/lib/nodemaint && head -c 64k /dev/zero > /var/lib/nodemaint/full; true',
    words: /^free space in \/var\/lib\/nodemaint, or repair its file system$/,
    follow: () => 'rm /var/lib/nodemaint/full',
    afterwards: 'umount -l /var/lib/nodemaint && systemctl restart nodemaint',
  },
];

describe('the advice of nodemaint doctor on a node', () => {
  const { signal } = new AbortController();
  const stack = new AsyncDisposableStack();
  let node: ClusterNode;

  const must = (command: string): Promise<string> => node.system().must(command);
  const examine = async (check: string): Promise<Check> => {
    const { stdout } = await node.system().run('nodemaint doctor -o json');
    const found = (JSON.parse(stdout) as { items: Check[] }).items.find(({ name }) => name === check);
    assert.ok(found !== undefined, stdout);
    return found;
  };
  const untilOk = (check: string): Promise<void> =>
    waitFor(`the check "${check}" is content`, async () => (await examine(check)).result === 'ok', {
      timeoutMs: 60_000,
      signal,
    });
  const watches = (): Promise<void> =>
    waitFor('the agent waits for a shutdown', async () => (await node.system().run(AGENT_WATCHES)).code === 0, {
      timeoutMs: 60_000,
      signal,
    });

  before(async () => {
    await promisify(execFile)(process.execPath, [path.join(ROOT, '.ci', 'bundle.ts')], { cwd: ROOT });
    const folder = await makeTestFolder('advice');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    const reached = { bindAddress: '0.0.0.0', extraSans: [HOST_FROM_NODES] };
    const controlPlane = stack.use(await startControlPlane(reached, signal));
    await installManifests(controlPlane);
    const own = path.join(folder, 'node-d');
    await mkdir(own);
    const plan = { controlPlane, name: 'node-d', number: 41, folder: own, root: await systemRoot('12', signal) };
    node = stack.use(await startClusterNode(plan, signal));
    await must(`${CHECKOUT}/install.sh`);
    await watches();
  });
  after(() => stack.disposeAsync());

  it('all is well at the beginning', async (t) => {
    const { stdout } = await node.system().run('nodemaint doctor');
    t.diagnostic(`\n${stdout}`);
    for (const { check } of ADVICE) assert.equal((await examine(check)).result, 'ok', check);
  });

  for (const { check, provoke, words, follow, afterwards } of ADVICE) {
    it(`the check "${check}" is content when its advice was followed: ${words.source}`, async (t) => {
      await must(provoke);
      const found = await examine(check);
      t.diagnostic(`${found.result}: ${found.message} -> ${found.fix}`);
      assert.notEqual(found.result, 'ok');
      assert.match(found.fix, words);
      await must(follow(found));
      await untilOk(check);
      if (afterwards !== undefined) await must(afterwards);
      await watches();
    });
  }
});
