/** What would be done to node n2 by its agent, which is a process of its own here. */
import assert from 'node:assert/strict';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EvictionRequest } from '../../../src/api/eviction-request.ts';
import { AGENT_LABEL, KUBELET_INTERCEPTOR, NODE_LABEL } from '../../../src/api/names.ts';
import type { NodeMaintenance } from '../../../src/api/node-maintenance.ts';
import type { Pod } from '../../../src/api/pod.ts';
import { collectionPath, EVICTION_REQUESTS, NODE_MAINTENANCES, objectPath, PODS } from '../../../src/kube/resource.ts';
import { requestFor } from '../rigs/admission.ts';
import { makeTestFolder } from '../folder.ts';
import { byName, maintenanceOf } from '../maintenance/objects.ts';
import { readAgentStatus, runNodemaint, startNodemaint } from '../commands/nodemaint.ts';
import { type Attack, sendAs } from './attack.ts';
import { mirrorBody, podBody, type Scene, TEAM } from './scene.ts';
import { make } from './steps.ts';
import { waitFor } from '../wait-for.ts';
import { writeAgentFiles } from '../agent/files.ts';

/** A test waits this long for a consequence that must not come; an agent acts within a second. */
const WATCHED_MS = 3_000;

interface AgentOfN2 {
  readonly runDirectory: string;
  readonly manifest: string;
}

/** Runs `body` while the agent of n2 is at work, with a static pod `file`. */
async function withAgent(scene: Scene, folder: string, body: (agent: AgentOfN2) => Promise<void>): Promise<void> {
  const at = (name: string): string => path.join(folder, name);
  const manifest = path.join(at('manifests'), 'file.yaml');
  await mkdir(at('manifests'));
  await writeFile(manifest, JSON.stringify(podBody('file', { namespace: TEAM })));
  await writeAgentFiles(folder, { nodeName: 'n2', kubeconfig: scene.n2Kubeconfig });
  try {
    await using _agent = startNodemaint(['agent', '--config', at('config.yaml')], at('agent.log'));
    await waitFor('the agent hears of the cluster', async () => {
      return (await readAgentStatus(at('run')).catch(() => undefined))?.cluster.heardAt !== undefined;
    });
    await body({ runDirectory: at('run'), manifest });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Throughout the time. */
async function staysSo(check: () => Promise<void>): Promise<void> {
  const until = performance.now() + WATCHED_MS;
  while (performance.now() < until) {
    await check();
    await delay(500);
  }
}

export const EDITOR_AND_AGENT: readonly Attack[] = [
  {
    name: 'asks for the eviction of a static pod that no maintenance targets',
    refusedBy: 'agent: moves no manifest unless a maintenance targets the pod',
    attempt: async (scene) => {
      const owner = scene.pods['static-n2'].metadata.ownerReferences?.[0]?.uid ?? '';
      const pod = await make<Pod>(scene, 'n2', collectionPath(PODS, TEAM), mirrorBody('file-n2', 'n2', owner));
      const meta = { name: pod.metadata.uid ?? '', namespace: TEAM };
      await make(scene, 'editor', collectionPath(EVICTION_REQUESTS, TEAM), requestFor('file-n2', meta.name, {}, meta));
      const request = async (): Promise<EvictionRequest> => {
        const where = objectPath(EVICTION_REQUESTS, meta);
        return (await sendAs(scene.clients.admin, { method: 'GET', path: where })).body as EvictionRequest;
      };
      await waitFor('it is the turn of the agent of n2', async () => {
        const { metadata, status } = await request();
        return metadata.labels?.[NODE_LABEL] === 'n2' && status?.activeInterceptors?.[0] === KUBELET_INTERCEPTOR;
      });
      // The agent moves nothing in the second one, where everybody may write, and says so of pods that are to leave.
      const folders = [await makeTestFolder('attack'), await mkdtemp(path.join(tmpdir(), 'nodemaint-attack-'))];
      const check = ({ manifest }: AgentOfN2): Promise<void> =>
        staysSo(async () => {
          await access(manifest);
          const entry = (await request()).status?.interceptors?.find(({ name }) => name === KUBELET_INTERCEPTOR);
          assert.equal(entry?.startTime, undefined);
        });
      for (const folder of folders) await withAgent(scene, folder, check);
    },
  },
];

export const NODE_AND_AGENT: readonly Attack[] = [
  {
    name: 'has nearly all names of the shutdowns of n2, and says that all are drained',
    refusedBy: 'agent: its own is what has its label and selects its node alone, by UID',
    attempt: async (scene) => {
      const { admin } = scene.clients;
      const all = collectionPath(NODE_MAINTENANCES);
      const condition = { type: 'Drained', status: 'True', reason: 'X', message: '' };
      const conditions = [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }];
      for (const last of '123456789abcdefghijklmnopqrstuvwxy') {
        const metadata = { name: `shutdown-n2-${last}`, labels: { [AGENT_LABEL]: 'n1' } };
        await make(scene, 'admin', all, maintenanceOf({ stage: 'Idle', nodeSelector: byName('n1') }, metadata));
        const where = objectPath(NODE_MAINTENANCES, metadata, 'status');
        await sendAs(admin, {
          method: 'PATCH',
          path: where,
          body: { status: { conditions } },
          patch: { kind: 'merge' },
        });
      }
      await withAgent(scene, await makeTestFolder('attack'), async ({ runDirectory, manifest }) => {
        const flags = ['--reason', 'an attack', '--run-directory', runDirectory];
        assert.equal((await runNodemaint(['trigger', ...flags])).code, 0);
        await waitFor('the agent has its own', async () => {
          const { body } = await sendAs(admin, { method: 'GET', path: all });
          const own = (body as { items: readonly NodeMaintenance[] }).items.filter(
            ({ metadata, spec }) => metadata.labels?.[AGENT_LABEL] === 'n2' && spec.stage === 'Drain',
          );
          return own.length === 1 && /^shutdown-n2-[0z]$/u.test(own[0]?.metadata.name ?? '');
        });
        await staysSo(async () => {
          assert.equal((await readAgentStatus(runDirectory)).phase.kind, 'draining');
          await access(manifest);
        });
      });
    },
  },
];
