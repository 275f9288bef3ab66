/** The nodes and pods of a sequence, and how its changes are made. */
import { collectionPath, NODES, objectPath, PODS, type Resource } from '../../../src/kube/resource.ts';
import { nodeObject, podObject } from '../../chaos/objects.ts';
import type { ClusterPart } from '../../chaos/world.ts';
import type { Sequence, Step } from './sequence.ts';

/** The number of the node of the maintenance; the first one would have a real agent. */
export const TARGET = 1;

/** Where a sequence is played. */
export interface Scene {
  readonly part: ClusterPart;
  /** Waits until it is so; throws where it does not come to pass. */
  until(what: string, ask: () => boolean): Promise<void>;
  /** Waits until nothing happens any more. */
  rest(): Promise<void>;
  /** Waits as long as the sequence has it between two changes. */
  pause(): Promise<void>;
}

/** What comes of a change. */
export type Answered = (step: Step, status: number) => Promise<void>;

async function create({ part }: Scene, resource: Resource, body: object): Promise<number> {
  const path = collectionPath(resource, resource.namespaced ? part.namespaces[0] : undefined);
  return await part.send({ method: 'POST', path, body });
}

/** Makes nodes and pods: on the node of the maintenance one of each kind that `keepPods` names, and one with an interceptor. */
export async function layOut(scene: Scene, hasInterceptor: boolean): Promise<void> {
  const { part } = scene;
  const [namespace] = part.namespaces;
  const [other = '', node = ''] = part.nodeNames;
  for (const name of [other, node]) await create(scene, NODES, nodeObject(part, name));
  part.interceptors = 'silent';
  part.staticPods.add(`0/${TARGET}`);
  const data = podObject('plain', 'data', namespace, node) as { readonly metadata: object; readonly spec: object };
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'data', uid: 'replica-set', controller: true };
  const pods = [
    podObject('plain', 'stays', namespace, other),
    podObject('plain', 'plain', namespace, node),
    podObject('high priority', 'high', namespace, node),
    {
      ...data,
      metadata: { ...data.metadata, ownerReferences: [owner] },
      spec: { ...data.spec, volumes: [{ name: 'data', emptyDir: {} }] },
    },
    ...(hasInterceptor ? [podObject('intercepted', 'intercepted', namespace, node)] : []),
  ];
  for (const pod of pods) await create(scene, PODS, pod);
  await scene.until('all pods run', () => {
    const running = part.pods().filter(({ status }) => status?.phase === 'Running');
    return running.length >= pods.length;
  });
}

/** Makes the object and plays its changes; `answered` sees each answer. */
export async function play(scene: Scene, sequence: Sequence, answered: Answered): Promise<void> {
  const { part } = scene;
  const { resource } = sequence;
  const name = sequence.nameOf(part);
  const path = objectPath(resource, resource.namespaced ? { name, namespace: part.namespaces[0] } : { name });
  const isThere = (): boolean =>
    [...part.maintenances(), ...part.requests()].some(({ metadata }) => metadata.name === name);
  const make = (at: unknown): Promise<number> => create(scene, resource, sequence.bodyOf(at, part));
  await answered({ what: 'made', isAllowed: true }, await make(sequence.first));
  for (const step of sequence.steps) {
    await (step.afterRest === true ? scene.rest() : scene.pause());
    if (step.anew === undefined) {
      const patch = { method: 'PATCH', path, body: step.patch ?? {}, patch: { kind: 'merge' } } as const;
      await answered(step, await part.send(patch));
      continue;
    }
    await part.send({ method: 'DELETE', path });
    await scene.until('the deleted object is gone', () => !isThere());
    await answered(step, await make(step.anew));
  }
}
