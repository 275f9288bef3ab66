/** The agent's own units under a real systemd, on a machine that can make no process any more. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { CHECKOUT, NODE, startSystemContainer } from '../../systemd/container.ts';
import { waitFor } from '../../support/wait-for.ts';

/** So short that an agent or a lock that needs a process for its sign of life does not outlast the test. */
const PATIENCE_SEC = 10;
const LONGER_MS = 25_000;

const INSTALL = `mkdir -p /usr/lib/nodemaint /etc/nodemaint /etc/kubernetes/manifests
ln -s ${NODE} /usr/lib/nodemaint/node
cp ${CHECKOUT}/systemd/libexec/lock-holder /usr/lib/nodemaint/
cp ${CHECKOUT}/dist/*.cjs /usr/lib/nodemaint/
cp ${CHECKOUT}/systemd/system/*.service /etc/systemd/system/
cd /etc/systemd/system
mkdir -p nodemaint.service.d nodemaint-inhibitor.service.d
printf '[Service]\\nWatchdogSec=${PATIENCE_SEC}\\n' > nodemaint.service.d/short.conf
printf '[Service]\\nEnvironment=NODEMAINT_DEAD_MAN_SEC=${PATIENCE_SEC} NODEMAINT_CHECK_SEC=2\\n' > nodemaint-inhibitor.service.d/short.conf
cat > /etc/nodemaint/config.yaml
chmod 0644 /etc/nodemaint/config.yaml
systemctl daemon-reload
systemctl start nodemaint`;

const CONFIG = `apiVersion: agent.nodemaintenance.x-k8s.io/v1alpha1
kind: AgentConfiguration
nodeName: n
kubeconfig: ""
cloud: {provider: none}
`;

const LIMITED = ['nodemaint.service', 'nodemaint-inhibitor.service', 'system.slice', 'init.scope'];

describe('a machine that can make no process', () => {
  it('the agent and its lock live on for longer than either may be silent', async (t) => {
    await using container = await startSystemContainer(AbortSignal.timeout(60_000));
    await container.must(INSTALL, CONFIG);
    const lock = 'systemd-inhibit --list --no-pager --no-legend | grep nodemaint';
    await waitFor('the lock is held', async () => (await container.run(lock)).code === 0, { timeoutMs: 30_000 });
    const before = await container.must('systemctl show -p MainPID nodemaint nodemaint-inhibitor');
    for (const unit of LIMITED) await container.must(`systemctl set-property --runtime ${unit} TasksMax=1`);
    assert.notEqual((await container.run('systemd-run --quiet --wait true')).code, 0, 'no process can be made');
    await delay(LONGER_MS);
    await container.must(lock);
    assert.equal(await container.must('systemctl show -p MainPID nodemaint nodemaint-inhibitor'), before);
    const journal = await container.must('journalctl -u nodemaint -u nodemaint-inhibitor --no-pager');
    assert.doesNotMatch(journal, /[Ww]atchdog timeout|no sign of life|[Cc]annot fork/);
    t.diagnostic(journal.split('\n').slice(-4).join('\n'));
  });
});
