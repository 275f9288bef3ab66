import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openMachine } from '../../../src/agent/machine-parts.ts';
import { type Beginning, type Foundation, openContext, type Opened } from '../../../src/agent/open-context.ts';
import { createLockReconciler } from '../../../src/agent/shutdown/lock.ts';
import { createNoLock } from '../../../src/host/systemd/inhibitor.ts';
import { findStaticPods } from '../../../src/agent/static-pods/directory-in-use.ts';
import { createManualRequests } from '../../../src/agent/static-pods/manual.ts';
import { createWakeup } from '../../../src/agent/iteration/wakeup.ts';
import { loadAgentConfig } from '../../../src/config/load.ts';
import type { Phase } from '../../../src/decide/shutdown/phase.ts';
import type { ClusterAccess } from '../../../src/kube/access/cluster.ts';
import { createKubeClient } from '../../../src/kube/client.ts';
import { writeAgentFiles } from '../../support/agent/files.ts';
import { DRAINING } from '../../support/agent/phase-facts.ts';
import { createRecordingLog } from '../../support/agent/recording-log.ts';
import { openTestState } from '../../support/agent/state.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { createSteppingClock } from '../../support/stand-ins/stepping-clock.ts';

const ACCESS: ClusterAccess = {
  server: new URL('https://api.example:6443/prefix'),
  authenticate: () => assert.fail('the API server is asked'),
};

/** The parts of an agent without a host, which starts in the boot `boot-1` with this phase. */
async function open(t: TestContext, phase: Phase, access?: ClusterAccess): Promise<Opened> {
  const folder = await temporaryFolder(t, 'parts');
  await mkdir(path.join(folder, 'manifests'));
  const config = await loadAgentConfig((await writeAgentFiles(folder)).configFile);
  const clock = createSteppingClock();
  const log = createRecordingLog();
  const end = new AbortController();
  const { signal } = end;
  const machine = openMachine({ config, scope: {}, clock, log }, signal);
  const state = await openTestState(config.stateDirectory);
  const find = (): Promise<undefined> => Promise.resolve(undefined);
  const located = await findStaticPods({ config, state, nodeName: 'node-a', find, log }, signal);
  const readMachineFacts = (): never => assert.fail('the firmware is asked');
  const readDoctor = (): never => assert.fail('the checks are run');
  const foundation: Foundation = {
    config,
    dependencies: { clock, log, readMachineFacts, readDoctor },
    nodeName: 'node-a',
    api: access && { access, client: createKubeClient(access, 'test') },
    machine,
    lock: createLockReconciler({ kind: 'none', lock: createNoLock(), host: undefined, clock, log }),
    state,
    wakeup: createWakeup(clock),
    wake: () => undefined,
    signal,
    living: signal,
  };
  const beginning: Beginning = { bootId: 'boot-1', record: { phase, offlineTargets: [] } };
  const rest = { locator: await located.open(), manual: createManualRequests() };
  const opened = await openContext(foundation, beginning, rest);
  t.after(() => {
    end.abort();
    opened.context.cluster?.client.close();
    machine.runtime.close();
  });
  return opened;
}

describe("the agent's parts", () => {
  it('a node without a cluster has no client and no Events, and without systemd nobody ends its pods', async (t) => {
    const { context, events } = await open(t, { kind: 'watching' });
    assert.deepEqual([context.cluster, events], [undefined, undefined]);
    assert.match(context.machine.offlinePods.whyNone() ?? '', /"lock" is "none"/);
    assert.deepEqual(context.node, { name: 'node-a', bootId: 'boot-1' });
  });

  it('the parts of a cluster are created without asking it', async (t) => {
    const { context, events } = await open(t, { kind: 'watching' }, ACCESS);
    assert.equal(context.cluster?.access, ACCESS);
    assert.ok(events !== undefined);
    assert.equal(context.cluster.cluster.maintenances.synced(), false);
  });

  it('a trigger outlives a restart of the agent, and ends with the boot', async (t) => {
    const readAs = async (phase: Phase): Promise<object> => {
      const { context } = await open(t, phase);
      return await context.machine.detector.read({}, AbortSignal.timeout(60_000));
    };
    const phase: Phase = { ...DRAINING, origin: 'trigger', reason: 'power' };
    const yes = { kind: 'yes', origin: 'trigger', reason: 'power', requestedBy: 'root' };
    assert.deepEqual(await readAs(phase), yes);
    assert.deepEqual(await readAs({ ...phase, kind: 'released', releasedAt: 1 }), yes);
    const no = { kind: 'no' };
    assert.deepEqual(await readAs({ ...phase, bootId: 'boot-0' }), no);
    assert.deepEqual(await readAs({ ...phase, origin: 'logind' }), no);
    assert.deepEqual(await readAs({ ...phase, kind: 'recovering', cause: 'canceled' }), no);
  });
});
