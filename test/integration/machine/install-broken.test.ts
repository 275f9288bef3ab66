/** install.sh at each place where a command of it can fail, or the power can go: what it says is true, and what it leaves is whole. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CHECKOUT, NODE, type SystemContainer, startSystemContainer } from '../../systemd/container.ts';
import { isThorough } from '../../support/thorough.ts';

const THOROUGH = isThorough(
  'install.sh with one failing command, and with SIGKILL, at each place instead of each fifteenth',
);
const STEP = THOROUGH ? 1 : 15;
const PLACES = '/root/places';
const LIB = '/usr/lib/nodemaint';
const UNITS = '/usr/lib/systemd';
/** The commands with which it changes something, decides, or waits. Each is preceded by a program that counts, and fails or kills at its turn. */
const COMMANDS =
  'basename cat chmod cmp cp find install ln mkdir mv readlink rm rmdir sed sleep sync systemctl timeout';
const STUB = `#!/bin/sh
name=\${0##*/}
exec 7>> ${PLACES}/lock; flock 7
read -r n < ${PLACES}/count; n=$((n + 1)); echo $n > ${PLACES}/count
read -r at how < ${PLACES}/at
[ $n != $at ] || echo "$name $*" > ${PLACES}/where
exec 7>&-
[ $n != $at ] || case $how in SIGKILL) kill -9 0 ;; *) exit 1 ;; esac
case $name in sync) exit 0 ;; sleep) set -- 0.3 ;; esac
exec /usr/bin/$name "$@"
`;
type Look = (place: string, success: boolean) => Promise<void>;
const HEAD = 'apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1\nkind: AgentConfiguration\n';
const kit = (name: string): string =>
  `mkdir /root/${name}; cp -r ${CHECKOUT}/install.sh ${CHECKOUT}/systemd ${CHECKOUT}/dist ${NODE} /root/${name}`;
const INSTALL = '/root/one/install.sh --standalone';
const UPGRADE = '/root/two/install.sh --standalone --drop-in /root/drop-in.yaml';
/** The program is compiled once, not for each of its runs. */
const COMPILED = 'NODE_COMPILE_CACHE=/root/compiled';
const IS_HELD = 'systemd-inhibit --list --no-pager --no-legend | grep -q "^nodemaint .*delay"';
const WHAT = `${LIB} /etc/nodemaint $(find ${UNITS} /etc/systemd -name '*nodemaint*')`;
const CLEAN = `systemctl stop nodemaint nodemaint-inhibitor 2> /dev/null; rm -rf ${WHAT}; systemctl daemon-reload`;

/** Most of the time of a series is waits of one machine, so the three go on beside each other. */
describe('install.sh, broken off', { concurrency: 3 }, () => {
  /** A machine with two releases, whose commands count. */
  async function startMachine(): Promise<SystemContainer> {
    const container = await startSystemContainer(AbortSignal.timeout(120_000));
    await container.must(`mkdir -p ${PLACES} /etc/kubernetes/manifests; ${kit('one')}; ${kit('two')}`);
    // The first program does not know the key of the second one's drop-in.
    await container.must("sed -i 's/maxHoldSec/maxHoldNot/g' /root/one/dist/*.cjs");
    await container.must('cat > /root/drop-in.yaml', `${HEAD}maxHoldSec: 3600\n`);
    await container.must(`cat > ${PLACES}/stub; chmod 755 ${PLACES}/stub`, STUB);
    await container.must(`echo 0 > ${PLACES}/count; echo 0 > ${PLACES}/at`);
    await container.must(`for name in ${COMMANDS}; do ln -s ${PLACES}/stub /usr/local/sbin/$name; done`);
    return container;
  }

  /** Breaks a command line off at each place, and looks at what it left; resolves to how often it said that it succeeded. */
  async function breakOff(container: SystemContainer, command: string, how: string, look: Look): Promise<string> {
    let [places, successes] = [0, 0];
    for (let at = 1; ; at += STEP) {
      await container.must(`cd ${PLACES}; rm -f where; echo 0 > count; echo ${at} ${how} > at`);
      const { code } = await container.run(`export ${COMPILED}; setsid --wait ${command}`);
      const where = (await container.must(`cd ${PLACES}; echo 0 > at; cat where 2> /dev/null || :`)).trim();
      // The end of the series: nothing was broken off. Else the machine was too slow, and there are more places.
      if (where === '') assert.equal(code, 0);
      if (where === '') break;
      places += 1;
      successes += code === 0 ? 1 : 0;
      await look(`${how} at place ${at} (${where})`, code === 0);
    }
    assert.ok(places * STEP > 40, String(places));
    return `${places} places, ${successes} successes`;
  }

  /** What is used is of one installation, which is guarded after a boot too; resolves to its configuration. */
  async function assertGuarded(container: SystemContainer, place: string): Promise<string> {
    const units = `cd ${LIB}/current/systemd && for file in $(find system logind.conf.d -type f); do cmp $file ${UNITS}/$file || exit 1; done`;
    const used = `cd ${LIB} && readlink -e current/node node nodemaint.cjs lock-holder nodemaint | cut -d / -f 6 | sort -u | wc -l`;
    const runs = `systemctl is-enabled nodemaint && systemctl is-active nodemaint nodemaint-inhibitor && ${IS_HELD}`;
    const guarded = `(${units}) && (${used}) && ${runs} && ${COMPILED} nodemaint config show`;
    const { code, stdout, stderr } = await container.run(guarded);
    assert.equal(code, 0, `${place}: ${stdout}${stderr}`);
    assert.match(stdout, /^1\n/, place);
    return stdout;
  }

  it('install.sh says of no first installation that it succeeded where one command failed and the node is not guarded', async (t) => {
    await using container = await startMachine();
    const told = await breakOff(container, INSTALL, 'failure', async (place, success) => {
      if (success) await assertGuarded(container, place);
      await container.must(CLEAN);
    });
    t.diagnostic(told);
  });

  for (const how of ['failure', 'SIGKILL']) {
    it(`install.sh leaves the old or the new program with its own configuration after a ${how} in an upgrade`, async (t) => {
      await using container = await startMachine();
      await container.must(INSTALL);
      await container.must(`mkdir /root/saved; for place in ${WHAT}; do cp -al --parents $place /root/saved; done`);
      const first = await container.must(`readlink ${LIB}/current`);
      let [count, old] = [0, 0];
      const told = await breakOff(container, UPGRADE, how, async (place, success) => {
        const isNew = (await container.must(`readlink ${LIB}/current`)) !== first;
        old += isNew ? 0 : 1;
        const again = count++ % 6 === 0;
        assert.ok(isNew || !success, place);
        // What a boot does.
        const boot = `systemctl restart nodemaint; for i in $(seq 60); do ${IS_HELD} && break; sleep 0.5; done`;
        if (isNew) await container.must(`systemctl daemon-reload; ${boot}`);
        assert.equal((await assertGuarded(container, place)).includes('maxHoldSec: 3600\n'), isNew, place);
        if (again) assert.match(await container.must(UPGRADE), /is installed, runs, and holds/, place);
        const restore = `rm -rf ${WHAT}; cp -al /root/saved/. /; systemctl daemon-reload`;
        await container.must(isNew || again ? `${restore}; ${boot}` : restore);
      });
      t.diagnostic(`${told}, ${old} with the old program`);
    });
  }
});
