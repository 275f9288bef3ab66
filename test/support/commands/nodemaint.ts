import { execFile } from 'node:child_process';
import { appendFile, rm } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { askAgent } from '../../../src/agent/control/client.ts';
import type { AgentStatus } from '../../../src/agent/control/status.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { type Program, startProgram } from '../../control-plane/process.ts';
import { makeTestFolder } from '../folder.ts';
import { maintenanceOf } from '../maintenance/objects.ts';
import { waitFor } from '../wait-for.ts';
import { asUser, type OtherUser } from './other-user.ts';
import { PROGRAM } from './program.ts';

const ROOT = path.join(import.meta.dirname, '..', '..', '..');

/** The command line of `nodemaint ARGS`. */
export function nodemaintCommand(args: readonly string[]): readonly [string, ...string[]] {
  return [process.execPath, ...PROGRAM, ...args];
}

/** Starts `nodemaint ARGS` as a process of its own. */
export function startNodemaint(args: readonly string[], logFile: string, env: NodeJS.ProcessEnv = {}): Program {
  return startProgram(nodemaintCommand(args), logFile, env);
}

/** Runs `nodemaint ARGS` to its end, as this user or another one. */
export async function runNodemaint(
  args: readonly string[],
  user?: OtherUser,
): Promise<{ stdout: string; stderr: string; code: number }> {
  try {
    const own = nodemaintCommand(args);
    const [program, ...rest] = user === undefined ? own : asUser(user, own);
    const { stdout, stderr } = await promisify(execFile)(program, rest, { timeout: 60_000 });
    return { stdout, stderr, code: 0 };
  } catch (error) {
    const { stdout, stderr, code } = error as { stdout: string; stderr: string; code: number };
    return { stdout, stderr, code };
  }
}

/** Asks the agent for its status as data; it rejects where no agent answers. */
export async function readAgentStatus(runDirectory: string): Promise<AgentStatus> {
  return (await askAgent(runDirectory, { verb: 'status' })) as AgentStatus;
}

/**
 * The documents of what kustomize made without Deployments, which are a test's own matter: their image is nowhere to be
 * had, and their pods would be one more thing to drain.
 */
export function withoutDeployments(documents: string): string {
  const kept = documents.split(/^---$/m).filter((document) => !/^kind: Deployment$/m.test(document));
  return kept.join('\n---\n');
}

/** Whether this API server has MutatingAdmissionPolicies, as from Kubernetes 1.36 on. */
async function hasMutatingPolicies({ kubectl }: ControlPlane): Promise<boolean> {
  return (await kubectl(['get', '--raw', '/apis/admissionregistration.k8s.io/v1'])).includes(
    '"mutatingadmissionpolicies"',
  );
}

/**
 * The manifests for the server, without Deployments: before Kubernetes 1.36 with the component for older versions, as
 * docs/internals/daemon-sets.md says.
 */
export async function manifestsFor(controlPlane: ControlPlane): Promise<string> {
  const { kubectl } = controlPlane;
  const manifests = path.join(ROOT, 'manifests');
  if (await hasMutatingPolicies(controlPlane)) return withoutDeployments(await kubectl(['kustomize', manifests]));
  const folder = await makeTestFolder('manifests');
  try {
    await promisify(execFile)('cp', ['-rL', `${manifests}/.`, folder]);
    await appendFile(path.join(folder, 'kustomization.yaml'), 'components: [policies/before-1.36]\n');
    return withoutDeployments(await kubectl(['kustomize', folder]));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Waits until the API server knows what the manifests say, and returns a kubeconfig of the controller's service account. */
export async function useManifests(controlPlane: ControlPlane): Promise<string> {
  const mutatesPlans = await hasMutatingPolicies(controlPlane);
  // The API server learns of new kinds every 5 s, and until then its mutating policies refuse them with 503.
  const maintenance = JSON.stringify(maintenanceOf());
  const mutates = async (): Promise<boolean> => {
    const tried = controlPlane.kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], maintenance);
    const answer = await tried.catch(() => '');
    return mutatesPlans ? answer.includes('"podType": "Static"') : answer !== '';
  };
  await waitFor('maintenances can be made, with default entries where there are such policies', mutates);
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:nodemaint-system', 'system:authenticated'];
  return await controlPlane.kubeconfigFor('system:serviceaccount:nodemaint-system:nodemaint-controller', groups);
}

/** Applies these documents of the manifests, and returns a kubeconfig of the controller's service account. */
export async function applyManifests(controlPlane: ControlPlane, documents: string): Promise<string> {
  await controlPlane.kubectl(['apply', '-f', '-'], documents);
  for (const crd of ['nodemaintenances.nodemaintenance.x-k8s.io', 'evictionrequests.coordination.x-k8s.io']) {
    await controlPlane.kubectl(['wait', '--for=condition=Established', `crd/${crd}`, '--timeout=300s']);
  }
  return await useManifests(controlPlane);
}

/** Installs the manifests without the Deployment and returns a kubeconfig of the controller's service account. */
export async function installManifests(controlPlane: ControlPlane): Promise<string> {
  return await applyManifests(controlPlane, await manifestsFor(controlPlane));
}
