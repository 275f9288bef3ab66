/** The .deb on a whole machine with a real systemd: installed, upgraded in mid-drain, removed and purged. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { makeTestFolder } from '../../support/folder.ts';
import { makeDebPair } from '../../support/packages.ts';
import { startSystemContainer, type SystemContainer } from '../../systemd/container.ts';
import { ENDLESS_POD, startDemoRuntimeUnit } from '../../systemd/demo-runtime.ts';
import { writtenByProgram } from '../../systemd/written.ts';

const CONFIG = `apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1
kind: AgentConfiguration
kubeconfig: ''
kubeletHealthz: ''
`;
/** What else the package brings, as find has it. */
const INSTALLED = '-name logind.conf.d -o -path "*/etc/polkit-1*"';
const IS_HELD = 'systemd-inhibit --list --no-pager --no-legend | grep -q "^nodemaint .*delay"';

describe('the .deb', () => {
  let folder: string;
  let first: string;
  let next: string;
  let container: SystemContainer;

  before(async () => {
    folder = await makeTestFolder('package');
    ({ first, next } = await makeDebPair(folder, new AbortController().signal));
  });

  after(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  beforeEach(async () => {
    container = await startSystemContainer(AbortSignal.timeout(60_000));
    await container.must('mkdir -p /etc/kubernetes/manifests');
  });

  afterEach(async () => await container?.[Symbol.asyncDispose]());

  const phase = async (): Promise<string> => {
    const status = JSON.parse(await container.must('nodemaint status -o json')) as { phase: { kind: string } };
    return status.phase.kind;
  };

  const write = async (file: string, text: string): Promise<void> => {
    await container.must(`mkdir -p ${path.dirname(file)} && cat > ${file} && chmod 644 ${file}`, text);
  };

  it('the .deb is installed, upgraded in mid-drain, kept while a manifest is parked, then removed and purged', async () => {
    const before = await writtenByProgram(container, INSTALLED);
    await write('/etc/nodemaint/config.yaml', CONFIG);
    await write('/etc/kubernetes/manifests/web.json', ENDLESS_POD);
    assert.match(await container.must(`dpkg -i ${first}`), /is installed, runs, and holds the lock/);
    await container.must(`test -x /usr/bin/kubectl-nodemaint && test ! -e /usr/local/bin/nodemaint && ${IS_HELD}`);
    assert.ok((await writtenByProgram(container, INSTALLED)).some((place) => place.startsWith('/etc/polkit-1/')));
    await container.must('gzip -t /usr/share/man/man1/nodemaint-drain.1.gz');

    await startDemoRuntimeUnit(container, 'pods', '/etc/kubernetes/manifests');
    await container.must('nodemaint trigger --reason upgrade');
    await container.must('until test -e /etc/kubernetes/nodemaint-parked/web.json; do sleep 0.2; done');
    const watch = `while :; do ${IS_HELD} || echo lost >> /root/lost; test -e /root/stop && exit; sleep 0.2; done`;
    const watched = container.run(watch);
    await container.must(`dpkg -i ${next}`);
    await container.must('touch /root/stop');
    await watched;
    assert.equal((await container.run('cat /root/lost')).stdout, '', 'the lock was not held all the time');
    assert.equal(await phase(), 'draining');
    const text = await container.must('readlink -f /usr/bin/nodemaint; tail -n 1 /usr/lib/nodemaint/nodemaint.cjs');
    assert.match(text, /\/\/ next/);

    const refused = await container.run('dpkg -r nodemaint');
    assert.notEqual(refused.code, 0);
    const said = refused.stderr + refused.stdout;
    assert.match(said, /manifests are parked:\n\/etc\/kubernetes\/nodemaint-parked\/web\.json/);
    assert.match(await container.must('dpkg-query -W -f "\\${Status}" nodemaint'), /installed$/);
    assert.equal(await phase(), 'draining');

    await container.must('nodemaint cancel');
    await container.must('systemctl stop pods');
    await startDemoRuntimeUnit(container, 'empty', '/root/none');
    await container.must('until test -e /etc/kubernetes/manifests/web.json; do sleep 0.2; done');
    await container.must('dpkg -r nodemaint');
    assert.equal((await container.run(IS_HELD)).code, 1);
    await container.must(
      'test -e /etc/nodemaint/config.yaml && test ! -e /usr/lib/nodemaint && test ! -e /usr/libexec/nodemaint',
    );
    await container.must('dpkg -P nodemaint');
    assert.deepEqual(await writtenByProgram(container, INSTALLED), before);
    assert.equal(await container.must('cat /etc/kubernetes/manifests/web.json'), ENDLESS_POD);
  });

  it('the .deb keeps the old agent where the new one does not come up, and the next upgrade repairs it', async () => {
    await write('/etc/nodemaint/config.yaml', CONFIG);
    await container.must(`dpkg -i ${first}`);
    const invocation = await container.must('systemctl show -P InvocationID nodemaint');
    await write('/etc/nodemaint/config.d/10.yaml', `${CONFIG}apiWaitSec: soon\n`);
    const refused = await container.run(`dpkg -i ${next}`);
    assert.notEqual(refused.code, 0);
    assert.match(
      refused.stderr,
      /config\.d\/10\.yaml is not a valid configuration[^]*apiWaitSec[^]*nothing was changed/,
    );
    await container.must(`until nodemaint status > /dev/null && ${IS_HELD}; do sleep 0.5; done`);
    assert.equal(await container.must('systemctl show -P InvocationID nodemaint'), invocation);
    await container.must('rm /etc/nodemaint/config.d/10.yaml && dpkg --configure -a');
    assert.match(await container.must('tail -n 1 /usr/lib/nodemaint/nodemaint.cjs'), /\/\/ next/);
  });

  it('the .deb is installed where the node has not joined its cluster yet, and where systemd does not run', async () => {
    const text = await container.must(`dpkg -i ${first}`);
    assert.match(text, /no \/etc\/kubernetes\/kubelet\.conf yet; the agent starts at the next boot/);
    assert.match(await container.must('systemctl is-enabled nodemaint'), /^enabled/);
    assert.match(await container.must(`dpkg -i ${next}`), /the agent starts at the next boot/);
    await container.must('tail -n 1 /usr/lib/nodemaint/nodemaint.cjs | grep -qx "// next"');
    await container.must('dpkg -P nodemaint');
    await container.must('mv /run/systemd /run/systemd.away');
    await container.must(`dpkg -i ${first}; test -L /etc/systemd/system/multi-user.target.wants/nodemaint.service`);
    await container.must('dpkg -P nodemaint && mv /run/systemd.away /run/systemd && test ! -e /usr/lib/nodemaint');
  });
});
