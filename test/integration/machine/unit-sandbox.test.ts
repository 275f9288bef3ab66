/**
 * What the agent has this program do in a process of its own, within the sandbox of its unit: the unit denies what a shell
 * may do, and a check that cannot be run there makes no node unguarded.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CHECKOUT, startSystemContainer, type SystemContainer } from '../../systemd/container.ts';

const PROGRAM = '/usr/lib/nodemaint/node /usr/lib/nodemaint/nodemaint.cjs';
/** Beside the agent's own configuration: that of a node whose API server is another machine. */
const CONFIG = '/etc/nodemaint/of-a-cluster.yaml';
const KUBECONFIG = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'c', cluster: { server: 'https://192.0.2.7:6443' } }],
  users: [{ name: 'u', user: { token: 'x' } }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'x',
});
const DOCTOR = `${PROGRAM} doctor --config ${CONFIG} --output json`;
const FACTS = `${PROGRAM} machine-facts`;
const IN_UNIT = `[Service]
ExecStartPost=-/bin/sh -c '${DOCTOR} > /run/nodemaint/doctor.json 2> /run/nodemaint/doctor.err'
ExecStartPost=-/bin/sh -c '${FACTS} > /run/nodemaint/facts.json 2> /run/nodemaint/facts.err'
`;

interface Checks {
  readonly items: readonly { readonly name: string; readonly result: string }[];
}

describe('the programs of the agent in the sandbox of its unit', () => {
  let container: SystemContainer;
  before(async () => {
    container = await startSystemContainer(AbortSignal.timeout(60_000));
    await container.must(`mkdir -p /etc/kubernetes/manifests && ${CHECKOUT}/install.sh --standalone`);
    await container.must('cat > /etc/kubernetes/node.conf', KUBECONFIG);
    const keys = 'kubeconfig: /etc/kubernetes/node.conf\nnodeName: node-a\n';
    await container.must(`sed /^kubeconfig:/d /etc/nodemaint/config.yaml > ${CONFIG} && cat >> ${CONFIG}`, keys);
    await container.must(
      'mkdir -p /etc/systemd/system/nodemaint.service.d && cat > /etc/systemd/system/nodemaint.service.d/test.conf',
      IN_UNIT,
    );
    await container.must('systemctl daemon-reload && systemctl restart nodemaint');
  });
  after(() => container?.[Symbol.asyncDispose]());

  it('the checks can be run there, and say the same as in a shell', async () => {
    const said = await container.must('cat /run/nodemaint/doctor.err /run/nodemaint/doctor.json');
    const resultsOf = (text: string): Readonly<Record<string, string>> =>
      Object.fromEntries((JSON.parse(text) as Checks).items.map(({ name, result }) => [name, result]));
    const inShell = await container.run(DOCTOR);
    assert.deepEqual(resultsOf(said), resultsOf(inShell.stdout));
    assert.ok('own API server' in resultsOf(said));
  });

  it('the facts of the machine can be read there, and are the same as in a shell', async () => {
    const said = await container.must('cat /run/nodemaint/facts.err /run/nodemaint/facts.json');
    assert.deepEqual(JSON.parse(said), JSON.parse(await container.must(FACTS)));
  });
});
