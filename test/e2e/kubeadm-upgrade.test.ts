/**
 * The page about kubeadm, pasted: a machine that kubeadm made the only control plane of its cluster gets another release of
 * Kubernetes, and is rebooted as for firmware, with the agent installed and the controller among its pods.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { CONFIG_API_VERSION } from '../../src/api/names.ts';
import { AFTER } from '../kubeadm/programs.ts';
import { daemonSet, deployment, staticPod } from '../node/pods.ts';
import { makeTestFolder } from '../support/folder.ts';
import { waitFor } from '../support/wait-for.ts';
import { CTR } from '../systemd/cluster-node.ts';
import { CHECKOUT, SHARE } from '../systemd/container.ts';
import { systemRoot } from '../systemd/roots.ts';
import { type KubeadmMachine, makeCluster, startKubeadmMachine, STEP_MS } from './kubeadm/machine.ts';
import { partsOf } from './kubeadm/page.ts';
import { AGENT_WATCHES } from './machine/install.ts';

const ROOT = path.join(import.meta.dirname, '..', '..');
const NODE = 'cp-1';
const WITNESS = '/var/witness';
const MANIFESTS = '/etc/kubernetes/manifests';
const WAIT_MS = 300_000;
const UPGRADED = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const STATIC_PODS = ['etcd', ...UPGRADED, 'low'];
/** The four of the control plane, a static pod of a person, a Deployment, a DaemonSet, and both replicas of the controller. */
const PODS = 9;
/** The boot id of a container is a file over that of the kernel, which the agent's unit does not see. */
const BOOT_ID = `apiVersion: ${CONFIG_API_VERSION}\nkind: AgentConfiguration\nbootIdPath: /run/boot-id\n`;
const PARKED = 'cd /etc/kubernetes && test ! -d nodemaint-parked || find nodemaint-parked -type f';

interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly uid: string };
    readonly status: {
      readonly phase: string;
      readonly containerStatuses?: readonly { readonly ready: boolean; readonly containerID: string }[];
    };
  }[];
}

describe('the page about kubeadm', () => {
  const { signal } = new AbortController();
  const stack = new AsyncDisposableStack();
  let machine: KubeadmMachine;
  let shell: string;

  const must = (command: string, input?: string): Promise<string> => machine.system().must(command, input, STEP_MS);
  const until = (what: string, ask: () => Promise<boolean>): Promise<void> =>
    waitFor(what, () => ask().catch(() => false), { timeoutMs: WAIT_MS, signal });
  const isSo = async (condition: string): Promise<boolean> => (await machine.system().run(condition)).code === 0;
  const settled = async (): Promise<boolean> => {
    const { items } = JSON.parse(await machine.kubectl('get pods -A -o json')) as Pods;
    const ready = items.filter(({ status }) => status.phase === 'Running' && status.containerStatuses?.[0]?.ready);
    const stages = await machine.kubectl(`get nm -o 'jsonpath={.items[*].spec.stage}'`);
    const cordoned = await machine.kubectl(`get node ${NODE} -o 'jsonpath={.spec.unschedulable}'`);
    const isOver = stages.split(' ').every((stage) => stage === 'Complete' || stage === '');
    return items.length === PODS && ready.length === PODS && isOver && cordoned === '' && (await isSo(AGENT_WATCHES));
  };
  const untilSettled = (): Promise<void> => until('everything runs, and nothing is under maintenance', settled);
  /** The static pods, with their containers where these end for no other reason, as what holds a Lease does. */
  const staticPods = async (): Promise<readonly string[]> => {
    const { items } = JSON.parse(await machine.kubectl('get pods -n kube-system -o json')) as Pods;
    const own = items.filter(({ metadata }) => STATIC_PODS.includes(metadata.name.replace(`-${NODE}`, '')));
    return own.map(({ metadata: { name, uid }, status }) => {
      const container = /^(?:etcd|kube-apiserver|low)-/.test(name) ? status.containerStatuses?.[0]?.containerID : '';
      return `${name} ${uid} ${container}`;
    });
  };
  const told = (): Promise<string> => must(`cat ${WITNESS}/log`);
  /** Runs commands of the page as a person pastes them; the first that fails ends it. */
  const paste = async (commands: string): Promise<string> => {
    const env = 'export KUBECONFIG=/etc/kubernetes/admin.conf';
    const { code, stdout, stderr } = await machine.system().run(`${env}; sh -e`, `${shell}${commands}`, STEP_MS);
    console.log(`--- ${commands}${stdout}${stderr}`);
    assert.equal(code, 0, commands);
    return stdout + stderr;
  };

  /** Gives the scheduler another flag, so that the next `kubeadm upgrade` has something to write. */
  const changeScheduler = async (): Promise<void> => {
    const known = await machine.kubectl('get configmap -n kube-system kubeadm-config -o json');
    const changed = known.replace('scheduler: {}', "scheduler: {extraArgs: [{name: v, value: '1'}]}");
    assert.notEqual(changed, known);
    await machine.kubectl('apply -f -', changed);
  };

  before(async () => {
    const folder = await makeTestFolder('kubeadm');
    stack.defer(() => rm(folder, { recursive: true, force: true }));
    await mkdir(path.join(folder, NODE));
    const root = await systemRoot('12', signal);
    const plan = { name: NODE, number: 21, folder: path.join(folder, NODE), root };
    machine = stack.use(await startKubeadmMachine(plan, signal));
    await makeCluster(machine);
    await promisify(execFile)('cp', [path.join(ROOT, 'dist', 'nodemaint-image.tar'), path.join(folder, NODE, 'share')]);
    await must(`${CTR} images import ${SHARE}/nodemaint-image.tar`);
    await must(`mkdir -p ${WITNESS} /etc/nodemaint/config.d && : > ${WITNESS}/log`);
    await must('cat > /etc/nodemaint/config.d/10-boot-id.yaml', BOOT_ID);
    // The second time for what the first found no kind for yet.
    await until('the manifests are applied', () => machine.kubectl(`apply -k ${CHECKOUT}/manifests`).then(() => true));
    await must(`${CHECKOUT}/install.sh`);
    const shape = { stopSec: 2, witness: WITNESS };
    await must(`cat > /root/low && mv /root/low ${MANIFESTS}/low.yaml`, JSON.stringify(staticPod('low', shape)));
    for (const each of [deployment('web', shape), daemonSet('logger', shape)])
      await machine.kubectl('apply -f -', JSON.stringify(each));
    await untilSettled();
  });

  after(() => stack.disposeAsync());

  it('the machine gets the next release by the commands of the page, and its static pods stay in the drain', async () => {
    const parts = await partsOf('A control plane node');
    const names = ['A control plane node', 'Before', 'The control plane of the node', 'The drain', 'The kubelet'];
    const headings = parts.map(({ heading }) => heading);
    assert.deepEqual(headings, [...names, 'It works', 'The end']);
    const [variables, check, controlPlane, drain, kubelet, works, end] = parts.map(({ commands }) => commands);
    assert.match(variables ?? '', /^NODE=\S+\nVERSION=[\d.]+\n$/);
    shell = `NODE=${NODE}\nVERSION=${AFTER.version.slice(1)}\n`;
    await paste(check ?? '');
    await paste(controlPlane ?? '');
    const images = await machine.kubectl(`get pods -n kube-system -o 'jsonpath={.items[*].spec.containers[0].image}'`);
    for (const component of UPGRADED) assert.ok(images.includes(`/${component}:${AFTER.version}`), images);
    await untilSettled();

    const own = await staticPods();
    assert.equal(own.length, STATIC_PODS.length);
    const before = await must(`cd ${MANIFESTS} && sha256sum *`);
    await paste(drain ?? '');
    assert.equal(await told(), 'web TERM\nweb END\n');
    assert.deepEqual(await staticPods(), own, 'no static pod was started again');
    assert.equal(await must(`cd ${MANIFESTS} && sha256sum *`), before);
    await changeScheduler();
    await paste('sudo kubeadm upgrade apply -y "v$VERSION"\n');
    assert.match(await must(`cat ${MANIFESTS}/kube-scheduler.yaml`), /- --v=1\n/);
    const others = (pods: readonly string[]): readonly string[] => pods.filter((each) => !/scheduler/.test(each));
    assert.deepEqual(others(await staticPods()), others(own), 'kubeadm changes one manifest in the drain');
    const manifests = await must(`cd ${MANIFESTS} && sha256sum *`);
    await paste(kubelet ?? '');
    await paste(works ?? '');
    // The new kubelet may start the API server again just then; the page says to repeat what fails.
    await until('the maintenance is completed', async () => /node\/cp-1 uncordoned/.test(await paste(end ?? '')));
    await untilSettled();
    assert.equal(await must(`cd ${MANIFESTS} && sha256sum *`), manifests);
    const versions = JSON.parse(await machine.kubectl('version -o json')) as Record<string, { gitVersion: string }>;
    assert.equal(versions['serverVersion']?.gitVersion, AFTER.version);
    assert.equal(versions['clientVersion']?.gitVersion, AFTER.version);
    assert.equal(await must(PARKED), '');
  });

  it('the machine reboots as for firmware: static pods leave last, and all is back', async () => {
    const manifests = await must(`cd ${MANIFESTS} && sha256sum *`);
    await must(`: > ${WITNESS}/log`);
    const [part] = await partsOf('The whole node, for firmware or a new kernel');
    await paste(part?.commands ?? '');
    await waitFor('the machine is down', () => machine.system().hasEnded(), { timeoutMs: WAIT_MS, signal });
    await machine.boot();
    await untilSettled();
    assert.equal(await told(), 'web TERM\nweb END\nlogger TERM\nlogger END\nlow TERM\nlow END\n');
    assert.equal(await must(`cd ${MANIFESTS} && sha256sum *`), manifests);
    assert.equal(await must(PARKED), '');
  });
});
