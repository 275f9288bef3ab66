import path from 'node:path';
import type { Program } from '../../control-plane/process.ts';
import { podGroupApi } from '../../control-plane/releases.ts';
import { type Actor, createActor } from '../eviction/actors.ts';
import type { CommandEnd, CommandRun } from '../commands/command.ts';
import { runEvict, startEvict } from '../commands/evict.ts';
import { buildEvictionRig, type EvictionRig, intercepts } from './eviction.ts';
import { startNodemaint } from '../commands/nodemaint.ts';

/** The requester entry of the command where none is named. */
export const CLI = 'cli.nodemaintenance.x-k8s.io';
/** The interceptor that the test plays. */
export const A = 'actor-a.example.com';
/** The annotation of a pod that has it. */
export const ACTOR = intercepts(A, 10_000);

/** What docs/usage/drain.md says that a person needs, in one namespace. */
export const RULES = [
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch', 'delete'] },
  {
    apiGroups: ['coordination.x-k8s.io'],
    resources: ['evictionrequests'],
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
  },
] as const;

/** The rig of evictions with the real controller as a process, an interceptor, and a person who may just evict. */
export interface EvictCommandRig extends EvictionRig {
  readonly controller: Program;
  readonly actor: Actor;
  /** Runs the command as that person. */
  evict(...args: string[]): Promise<CommandEnd>;
  /** Starts it with --watch. */
  watch(...args: string[]): CommandRun;
  /** Creates or changes an object as cluster admin. */
  apply(object: object): Promise<string>;
  /** A kubeconfig of a user with some rights in the namespace `default`. */
  userWith(name: string, rules: readonly object[]): Promise<string>;
}

/** Starts the rig. */
export async function buildEvictCommandRig(): Promise<EvictCommandRig> {
  await using stack = new AsyncDisposableStack();
  // Pods of a workload exist behind this gate only.
  const gates = ['--feature-gates=GenericWorkload=true', `--runtime-config=${podGroupApi()}=true`];
  const rig = stack.use(await buildEvictionRig({ apiServerFlags: gates }));
  const log = path.join(rig.folder, 'controller.log');
  const controller = stack.use(startNodemaint(['controller', '--kubeconfig', rig.controllerKubeconfig], log));
  const apply = async (object: object): Promise<string> =>
    await rig.controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(object));
  const userWith = async (name: string, rules: readonly object[]): Promise<string> => {
    const group = 'rbac.authorization.k8s.io';
    const metadata = { name, namespace: 'default' };
    await apply({ apiVersion: `${group}/v1`, kind: 'Role', metadata, rules });
    const roleRef = { apiGroup: group, kind: 'Role', name };
    const subjects = [{ kind: 'User', name, apiGroup: group }];
    await apply({ apiVersion: `${group}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects });
    return await rig.controlPlane.kubeconfigFor(name, []);
  };
  const kubeconfig = await userWith('alice', RULES);
  const actor = createActor(A);
  await rig.startInterceptor(actor);
  const owned = stack.move();
  return {
    ...rig,
    controller,
    actor,
    evict: (...args) => runEvict([...args, '--kubeconfig', kubeconfig]),
    watch: (...args) => startEvict([...args, '--watch', '--kubeconfig', kubeconfig]),
    apply,
    userWith,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
