/**
 * A fleet of six real nodes in two pools, each with its own systemd, containerd and kubelet in a container, run by the chart:
 * installed, upgraded while a node is dead, and rolled back; one node has the kubelet's own graceful shutdown on,
 * and one Node object is of Windows. What `nodemaint nodes`, `nodemaint check`, the
 * controller's metrics and the alerts say of it.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import { type Prometheus, startPrometheus } from '../prometheus/prometheus.ts';
import { type ControllerRelay, relayController } from '../prometheus/relay.ts';
import { soonRules } from '../support/monitoring.ts';
import { HOME, NAMES, NEXT_TAG, type PoolFleet, startPoolFleet } from '../support/rigs/pool-fleet.ts';
import { waitFor } from '../support/wait-for.ts';

const OF_A = NAMES.slice(0, 3);
const OF_B = NAMES.slice(3);
const DEAD = 'node-3';
const OWN_SHUTDOWN = 'node-6';
const WINDOWS = 'node-w';
const KUBELET_CONFIG = '/etc/kubernetes/kubelet.yaml';
/** What the kubelet's configuration says without a graceful shutdown of its own, and with one. */
const OFF = '"shutdownGracePeriod":"0s"';
const ON = '"shutdownGracePeriod":"30s"';
const ALL_GUARDED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(NAMES.map((name) => [name, 'guarded'])),
  [WINDOWS]: 'exempt',
};
const ONE_UNGUARDED = { ...ALL_GUARDED, [OWN_SHUTDOWN]: 'unguarded' };

/** The values of the chart, with these for the hold of pool `a` in seconds and the tag of the image. */
function valuesOf(maxHoldSec: number, tag: string): object {
  const select = (pool: string): object => ({ name: pool, nodeSelector: { 'example.com/pool': pool } });
  const pools = [
    { ...select('a'), config: { maxHoldSec }, maxUnavailable: 2 },
    { ...select('b'), config: { maxHoldSec: 7200 }, maxUnavailable: 1 },
  ];
  return { image: { tag }, installer: { enabled: true, pools } };
}

describe('a fleet of six real nodes in two pools', () => {
  const { signal } = new AbortController();
  const stack = new AsyncDisposableStack();
  let fleet: PoolFleet;
  let relay: ControllerRelay;
  let prometheus: Prometheus;

  const kubectl = (...args: readonly string[]): Promise<string> => fleet.controlPlane.kubectl(args);
  const setKubelet = (from: string, to: string): Promise<string> =>
    fleet.on(
      OWN_SHUTDOWN,
      `sed -i 's/${from}/${to}/' ${KUBELET_CONFIG} && grep -q '${to}' ${KUBELET_CONFIG} && systemctl restart kubelet`,
    );
  const untilCounted = (expected: Readonly<Record<string, number>>): Promise<void> =>
    fleet.until(`the controller counts ${JSON.stringify(expected)}`, async () => {
      const found = [...(await relay.read()).matchAll(/^nodemaint_nodes\{state="([\w-]+)"\} (\d+)$/gm)];
      const now = new Map(found.map(([, state = '', count]) => [state, Number(count)]));
      return Object.entries(expected).every(([state, count]) => now.get(state) === count);
    });
  const untilAlert = (name: string, fires: boolean): Promise<void> =>
    waitFor(
      `the alert ${name} ${fires ? 'fires' : 'is over'}`,
      async () => (await prometheus.query(`ALERTS{alertname="${name}",alertstate="firing"}`)).length > 0 === fires,
      { timeoutMs: 120_000, signal },
    );
  const showFleet = async (t: TestContext): Promise<void> => {
    t.diagnostic(`\n${(await fleet.nodemaint('nodes', '-o', 'wide')).stdout}`);
    const { code, stdout } = await fleet.nodemaint('check');
    t.diagnostic(`\n${stdout.replaceAll(/^ok .*\n/gm, '')}check: exit code ${code}`);
  };

  before(async () => {
    fleet = stack.use(await startPoolFleet(signal));
    await setKubelet(OFF, ON);
    const labels = { 'kubernetes.io/os': 'windows' };
    const windows = { apiVersion: 'v1', kind: 'Node', metadata: { name: WINDOWS, labels } };
    await fleet.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(windows));
    relay = stack.use(await relayController(fleet.controlPlane));
    await writeFile(path.join(fleet.folder, 'rules.yaml'), stringify(await soonRules()));
    const config = {
      global: { scrape_interval: '5s', evaluation_interval: '5s' },
      rule_files: ['rules.yaml'],
      scrape_configs: [{ job_name: 'nodemaint-controller', static_configs: [{ targets: [relay.address] }] }],
    };
    const configFile = path.join(fleet.folder, 'prometheus.yaml');
    await writeFile(configFile, stringify(config));
    prometheus = stack.use(await startPrometheus(configFile, fleet.folder, signal));
  });

  after(() => stack.disposeAsync());

  it('the chart installs both pools, each with its configuration; a kubelet with a graceful shutdown of its own is unguarded', async (t) => {
    await fleet.use('install', valuesOf(3600, ''));
    await fleet.untilStates(ONE_UNGUARDED);
    await showFleet(t);
    assert.deepEqual(await fleet.holds(NAMES), [3600, 3600, 3600, 7200, 7200, 7200]);
    assert.match((await fleet.told()).get(OWN_SHUTDOWN)?.reason ?? '', /kubelet shutdown/);
    await untilCounted({ guarded: 5, unguarded: 1, exempt: 1, outdated: 0 });
    await untilAlert('NodemaintNodesUnguarded', true);
    const { code, stdout } = await fleet.nodemaint('check');
    assert.equal(code, 1);
    assert.match(stdout, /^fail .*node-6/m);
    assert.doesNotMatch(stdout, /node-w/);
  });

  it('an upgrade reaches every other node although one is dead, and that one when it is back', async (t) => {
    const dead = fleet.node(DEAD);
    await dead.system()[Symbol.asyncDispose]();
    const ready = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}';
    await fleet.until(
      'the node is not ready',
      async () => (await kubectl('get', 'node', DEAD, '-o', ready)) !== 'True',
    );
    await fleet.use('upgrade', valuesOf(1800, NEXT_TAG));
    const others = NAMES.filter((name) => name !== DEAD);
    await fleet.until('the others have the next version', async () => (await fleet.haveNext(others)).every(Boolean));
    await fleet.untilStates({ ...ONE_UNGUARDED, [DEAD]: 'outdated' });
    await untilCounted({ guarded: 4, outdated: 1, unguarded: 1 });
    await showFleet(t);
    await untilAlert('NodemaintRolloutStuck', true);
    assert.deepEqual(await fleet.holds(others), [1800, 1800, 7200, 7200, 7200]);
    await dead.boot();
    await fleet.untilStates(ONE_UNGUARDED);
    assert.deepEqual([await fleet.haveNext([DEAD]), await fleet.holds([DEAD])], [[true], [1800]]);
    await untilAlert('NodemaintRolloutStuck', false);
  });

  it('a rollback takes program, configuration and controller back', async (t) => {
    await fleet.helm(['rollback', 'nodemaint', '1', '--namespace', HOME]);
    await fleet.until('no node has the next version', async () => !(await fleet.haveNext(NAMES)).some(Boolean));
    await fleet.untilStates(ONE_UNGUARDED);
    await showFleet(t);
    assert.deepEqual(await fleet.holds([...OF_A, ...OF_B]), [3600, 3600, 3600, 7200, 7200, 7200]);
  });

  it("the advice about the kubelet's own graceful shutdown, followed, makes the fleet guarded, and the alert is over", async (t) => {
    const advice = await fleet.node(OWN_SHUTDOWN).system().run('nodemaint disable-kubelet-shutdown');
    t.diagnostic(`${advice.stdout}${advice.stderr}`);
    assert.match(advice.stderr, /in \/etc\/kubernetes\/kubelet\.yaml set shutdownGracePeriod and .* to 0s/);
    await setKubelet(ON, OFF);
    await fleet.untilStates(ALL_GUARDED);
    await untilCounted({ guarded: 6, unguarded: 0, exempt: 1, outdated: 0 });
    await untilAlert('NodemaintNodesUnguarded', false);
    const { code, stdout } = await fleet.nodemaint('check');
    assert.equal(code, 0, stdout);
  });
});
