/** install.sh on machines that are not like kubeadm on Debian: where it puts things, and what it says where it cannot. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CHECKOUT, NODE, type SystemContainer, startSystemContainer } from '../../systemd/container.ts';
import { writtenByProgram } from '../../systemd/written.ts';

const PAGE = path.join(import.meta.dirname, '..', '..', '..', 'docs', 'usage', 'install.md');
const CONFIG = '/etc/nodemaint/config.yaml';
const READ_ONLY = (folder: string): string => `mount --bind ${folder} ${folder}; mount -o remount,bind,ro ${folder}`;
/** What the container image and the packages have: the script, program, Node.js and units. */
const KIT = `mkdir -p /root/kit/dist; cp -r ${CHECKOUT}/install.sh ${CHECKOUT}/systemd ${NODE} /root/kit; cp ${CHECKOUT}/dist/*.cjs /root/kit/dist`;
const write = (file: string): string => `mkdir -p $(dirname ${file}); cat > ${file}`;
const IS_HELD = 'systemd-inhibit --list --no-pager --no-legend | grep "^nodemaint .*delay"';
const KUBECONFIG = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: none}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
`;

/** The rows of the table in docs/usage/install.md whose first column has this title, without code marks. */
async function tableOf(title: string): Promise<readonly (readonly string[])[]> {
  const lines = (await readFile(PAGE, 'utf8')).split('\n');
  const begin = lines.findIndex((line) => line.startsWith(`| ${title} |`));
  const rows = lines.slice(begin + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

describe('install.sh on other machines', () => {
  let container: SystemContainer;
  let before: readonly string[];

  beforeEach(async () => {
    container = await startSystemContainer(AbortSignal.timeout(60_000));
    await container.must(`mkdir -p /etc/kubernetes/manifests; ${KIT}`);
    before = await writtenByProgram(container);
  });

  afterEach(async () => await container?.[Symbol.asyncDispose]());

  it('install.sh installs below /opt where /usr cannot be written, upgrades and goes back there, and leaves nothing', async () => {
    await container.must(READ_ONLY('/usr'));
    const said = await container.must('/root/kit/install.sh --standalone');
    assert.match(said, /is installed, runs, and holds the lock; see: \/opt\/bin\/nodemaint status$/m);
    await container.must(`/opt/bin/nodemaint status && ${IS_HELD}`);
    const unit = '/etc/systemd/system/nodemaint.service';
    assert.match(await container.must(`test ! -L ${unit} && cat ${unit}`), /^ExecStart=\/opt\/nodemaint\/node /m);
    const first = await container.must('readlink /opt/nodemaint/current');

    await container.must(
      `cd /root/kit; echo '# next' >> systemd/system/nodemaint.service; mv systemd/system/halt.target.d systemd/system/next.target.d; ./install.sh --standalone`,
    );
    assert.notEqual(await container.must('readlink /opt/nodemaint/current'), first);
    const dropIn = (target: string): string => `test -e /etc/systemd/system/${target}.target.d/zz-nodemaint.conf`;
    await container.must(`grep -q '^# next' ${unit}; ! ${dropIn('halt')} && ${dropIn('next')}`);
    await container.must('/root/kit/install.sh rollback');
    await container.must(`! grep -q '^# next' ${unit} && ${dropIn('halt')} && ! ${dropIn('next')} && ${IS_HELD}`);
    await container.must('/root/kit/install.sh uninstall --purge');
    assert.deepEqual(await writtenByProgram(container), before);
  });

  it('install.sh takes the kubeconfig and the socket that the documentation names for each kind of node, and leaves nothing', async () => {
    const rows = await tableOf('kind of node');
    assert.ok(rows.length >= 6);
    for (const [index, [kind, kubeconfig = '', socket = '', program = '']] of rows.entries()) {
      await container.must(write(kubeconfig), KUBECONFIG);
      const listen = `mkdir -p $(dirname ${socket}); systemd-run --quiet --unit=runtime-${index} --socket-property=ListenStream=${socket} true`;
      const detected = await container.must(`${listen}; /root/kit/node /root/kit/dist/nodemaint.cjs config detect`);
      const lines = `kubeconfig: ${kubeconfig}\ncontainerRuntimeEndpoint: unix://${socket}\n`;
      assert.equal(detected, lines, kind);
      if (kind === 'k3s') {
        const said = await container.must('/root/kit/install.sh --no-start');
        assert.match(said, /^node-maintenance-agent \S+ is installed; start it with: systemctl start nodemaint$/m);
        const text = await container.must(`test -x ${program}/nodemaint && cat ${CONFIG}`);
        assert.ok(text.includes(lines), text);
        await container.must('/root/kit/install.sh uninstall --purge');
        assert.deepEqual(await writtenByProgram(container), before);
      }
      await container.must(`systemctl stop runtime-${index}.socket; rm ${kubeconfig} ${socket}`);
    }
  });

  it('install.sh says what the documentation says where it cannot install, and changes nothing', async () => {
    const install = '/root/kit/install.sh --no-start';
    const commands: Readonly<Record<string, string>> = {
      'nothing tells the kubeconfig': install,
      'the kubeconfig that you name does not exist': `${install} --kubeconfig /srv/none.conf`,
      'the kubeconfig is in a home directory': `cat > /root/kubeconfig; ${install} --kubeconfig /root/kubeconfig`,
      'another user than root': `chmod 755 /root; setpriv --reuid 65534 ${install}`,
      'systemd does not run': `mv /run/systemd/system /run/away; ${install}; code=$?; mv /run/away /run/systemd/system; exit $code`,
      'the release is unpacked where nothing may be executed, as in /run of Debian': `mkdir -p /srv/noexec; mount -t tmpfs -o noexec tmpfs /srv/noexec; cp -r /root/kit/. /srv/noexec; sh /srv/noexec/install.sh --no-start`,
      'a part of /etc is read-only': `${READ_ONLY('/etc/systemd')}; ${install} --standalone`,
    };
    const rows = await tableOf('obstacle');
    const found = rows.map(([obstacle]) => obstacle);
    assert.deepEqual(found, Object.keys(commands));
    for (const [obstacle = '', says = ''] of rows) {
      const { code, stderr } = await container.run(commands[obstacle] ?? '', KUBECONFIG);
      assert.equal(code, 1, `${obstacle}: ${stderr}`);
      assert.ok(stderr.includes(says), `${obstacle}: ${stderr}`);
      assert.deepEqual(await writtenByProgram(container), before, obstacle);
    }
  });

  it('install.sh gives programs the SELinux label of programs, and takes the rule for it away again', async () => {
    const stub = (name: string): string =>
      `printf '#!/bin/sh\necho ${name} "$@" >> /root/calls\n' > /usr/local/bin/${name}; chmod 755 /usr/local/bin/${name}`;
    await container.must(['selinuxenabled', 'chcon', 'semanage'].map(stub).join('; '));
    await container.must('/root/kit/install.sh --standalone --no-start; /root/kit/install.sh uninstall --purge');
    const calls = await container.must('grep -v selinuxenabled /root/calls');
    const staged = '/usr/lib/nodemaint/versions/.staged';
    const pattern = '/usr/lib/nodemaint/versions/[^/]+/(node|nodemaint|lock-holder)';
    assert.deepEqual(calls.trim().split('\n'), [
      `chcon -t bin_t ${staged}/node ${staged}/nodemaint ${staged}/lock-holder`,
      `semanage fcontext -a -t bin_t ${pattern}`,
      `semanage fcontext -d ${pattern}`,
    ]);
  });
});
