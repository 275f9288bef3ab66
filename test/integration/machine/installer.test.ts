/** The command of the installer's pod on a whole machine with a real systemd. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CHECKOUT, type Ended, NODE, type SystemContainer, startSystemContainer } from '../../systemd/container.ts';

const WORK = '/var/lib/nodemaint-installer';
const KIT = `mkdir -p /root/kit; cp -r ${CHECKOUT}/install.sh ${CHECKOUT}/systemd ${CHECKOUT}/dist /root/kit`;
const RUN = `${NODE} ${CHECKOUT}/dist/nodemaint.cjs install-node --kit /root/kit --`;
const INSTALL = `${RUN} install --standalone --unless-current --when-idle`;
const IS_HELD = 'systemd-inhibit --list --no-pager --no-legend | grep "^nodemaint .*delay"';
const CURRENT = 'readlink /usr/lib/nodemaint/current';

describe('nodemaint install-node', () => {
  let container: SystemContainer;

  beforeEach(async () => {
    container = await startSystemContainer(AbortSignal.timeout(60_000));
    await container.must(`mkdir -p /etc/kubernetes/manifests; ${KIT}`);
  });

  afterEach(async () => await container?.[Symbol.asyncDispose]());

  it('nodemaint install-node installs as a unit of the machine, does nothing a second time, and takes the agent off', async () => {
    assert.match(await container.must(INSTALL), /is installed, runs, and holds the lock/);
    await container.must(`nodemaint status && ${IS_HELD}`);
    const first = await container.must(CURRENT);
    assert.match(await container.must(INSTALL), /exactly this node-maintenance-agent is installed/);
    assert.equal(await container.must(CURRENT), first);
    assert.equal(await container.must(`ls ${WORK}; ls /run/systemd/system | grep nodemaint || :`), '');

    await container.must('echo \'throw new Error("broken build")\' > /root/kit/dist/nodemaint.cjs');
    const { code, stdout, stderr } = await container.run(INSTALL);
    assert.equal(code, 1);
    assert.match(stdout, /broken build[^]*the new program does not run on this machine; nothing was changed/);
    assert.match(stderr, /install\.sh install --standalone --unless-current --when-idle ended with 1/);
    assert.equal(await container.must(CURRENT), first);

    assert.match(await container.must(`${RUN} uninstall --purge`), /is removed from this machine/);
    await container.must(`! test -e /usr/lib/nodemaint && ! ${IS_HELD}`);
  });

  it('nodemaint install-node gives the machine a drop-in of the configuration, and goes back where the agent would not start with it', async () => {
    const head = 'apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\n';
    const [from, to] = ['/etc/nodemaint-installer/config.yaml', '/etc/nodemaint/config.d/50-installer.yaml'];
    const runWith = async (text: string): Promise<Ended> => {
      await container.must(`mkdir -p $(dirname ${from}); cat > ${from}`, text);
      return await container.run(INSTALL);
    };
    const effective =
      'nodemaint config show | grep -E "^(logLevel|maxHoldSec):" | sort; systemctl show -P InvocationID nodemaint';
    const first = await runWith(`${head}maxHoldSec: 3600\n`);
    assert.match(first.stdout, /is installed, runs, and holds the lock/, first.stderr);
    const shown = await container.must(effective);
    assert.match(shown, /^logLevel: info\nmaxHoldSec: 3600\n/);
    assert.match((await runWith(`${head}maxHoldSec: 3600\n`)).stdout, /exactly this node-maintenance-agent/);

    // Wrong in itself, and wrong only on this machine: in both cases nothing is changed.
    for (const [bad, says] of [
      ['maxHoldSec: 1h', `${to} is not a valid configuration`],
      ['kubeconfig: /srv/none.conf', '/srv/none.conf'],
    ] as const) {
      const { code, stdout } = await runWith(`${head}${bad}\n`);
      assert.equal(code, 1, stdout);
      assert.ok(stdout.includes(says), stdout);
      assert.match(stdout, /the agent would not start with this configuration; nothing was changed/);
      assert.equal(await container.must(effective), shown);
    }
    // The check passes, and the agent does not come up.
    const bundle = '/root/kit/dist/nodemaint.cjs';
    await container.must(
      `cp ${bundle} /root/good; sed -i '1a if (process.argv[2] === "agent") throw new Error("no agent today");' ${bundle}`,
    );
    const failed = await runWith(`${head}logLevel: debug\n`);
    assert.match(failed.stdout, /no agent today[^]*the upgrade FAILED; the earlier installation/, failed.stderr);
    const values = /^logLevel: .*\nmaxHoldSec: .*\n/;
    assert.equal(values.exec(await container.must(effective))?.[0], values.exec(shown)?.[0]);
    await container.must(`cp /root/good ${bundle}`);
    assert.match((await runWith(`${head}logLevel: debug\n`)).stdout, /is installed, runs, and holds the lock/);
    assert.match(await container.must(effective), /^logLevel: debug$/m);
    assert.match((await runWith('')).stdout, /is installed, runs, and holds the lock/);
    assert.equal(await container.must(`cat ${to}`), head);
  });

  it('nodemaint install-node waits while manifests are parked, and its installation goes on when its pod ends', async () => {
    await container.must(INSTALL);
    const first = await container.must(CURRENT);
    await container.must("echo '// next' >> /root/kit/dist/nodemaint.cjs");
    const parked = '/etc/kubernetes/nodemaint-parked/etcd.yaml';
    await container.must(`mkdir -p $(dirname ${parked}); touch ${parked}`);
    await container.must(`systemd-run --quiet --unit=pod sh -c '${INSTALL} > /root/said 2>&1'`);
    const until = (what: string): Promise<string> =>
      container.must(`for i in $(seq 120); do if ${what}; then exit 0; fi; sleep 0.5; done; cat /root/said; exit 1`);
    await until("grep -q 'because manifests are parked' /root/said");
    assert.equal(await container.must(CURRENT), first);

    await container.must(`rm ${parked}`);
    await until('[ "$(systemctl is-active nodemaint-install)" = activating ]');
    await container.must('systemctl kill --signal=KILL pod');
    assert.equal(await container.must(CURRENT), first);
    // The next pod waits for the unit before it replaces the files from which that runs.
    assert.match(await container.must(INSTALL), /exactly this node-maintenance-agent is installed/);
    assert.notEqual(await container.must(CURRENT), first);
    await container.must(`nodemaint status && ${IS_HELD}`);
  });
});
