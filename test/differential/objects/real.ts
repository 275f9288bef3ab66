/** Plays changes on a real API server with the product's custom resources and policies; no controller runs. */
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../../src/api/meta.ts';
import type { Pod } from '../../../src/api/pod.ts';
import type { KubeClient, KubeRequest, KubeResponse } from '../../../src/kube/client.ts';
import { collectionPath, objectPath, PODS, statusMessage } from '../../../src/kube/resource.ts';
import { createRandom } from '../../chaos/random.ts';
import { podObject } from '../../chaos/objects.ts';
import { type ClusterPart, nodeNamesOf } from '../../chaos/world.ts';
import { waitFor } from '../../support/wait-for.ts';
import { type Amount, differenceOf, seedOf, type Tally } from '../tally.ts';
import { describe, type Draw, lastAlone, type Sequence, type Step } from './sequence.ts';

const NAMESPACE = 'default';
const CALL_MS = 60_000;

/** The one object of a sequence on the API server. */
class Subject {
  readonly #client: KubeClient;
  readonly #sequence: Sequence;
  readonly #part: ClusterPart;
  readonly path: string;

  constructor(client: KubeClient, sequence: Sequence, part: ClusterPart) {
    this.#client = client;
    this.#sequence = sequence;
    this.#part = part;
    const name = sequence.nameOf(part);
    this.path = objectPath(sequence.resource, sequence.resource.namespaced ? { name, namespace: NAMESPACE } : { name });
  }

  async send(request: KubeRequest): Promise<KubeResponse> {
    return await this.#client.send(request, AbortSignal.timeout(CALL_MS));
  }

  async make(at: unknown): Promise<KubeResponse> {
    const { resource } = this.#sequence;
    const path = collectionPath(resource, resource.namespaced ? NAMESPACE : undefined);
    return await this.send({ method: 'POST', path, body: this.#sequence.bodyOf(at, this.#part) });
  }

  /** The object as the API server has it; undefined where there is none. */
  async read(): Promise<KubeObject | undefined> {
    const { status, body } = await this.send({ method: 'GET', path: this.path });
    return status === 200 ? (body as KubeObject) : undefined;
  }

  /** Deletes the object, and waits until it is gone. */
  async remove(): Promise<void> {
    await this.send({ method: 'DELETE', path: this.path });
    await waitFor(`the end of ${this.path}`, async () => (await this.read()) === undefined);
  }

  async change(step: Step): Promise<KubeResponse> {
    if (step.anew === undefined) {
      return await this.send({ method: 'PATCH', path: this.path, body: step.patch ?? {}, patch: { kind: 'merge' } });
    }
    await this.remove();
    return await this.make(step.anew);
  }
}

/** What people have written, without what the API server adds. */
function written(object: KubeObject | undefined): object {
  const { spec } = (object ?? {}) as { readonly spec?: object };
  return { spec, labels: object?.metadata.labels };
}

/** Judges one refusal: it names its place, changes nothing, and does not keep the object from another change. */
async function judgeRefusal(
  subject: Subject,
  before: KubeObject | undefined,
  answer: KubeResponse,
  find: (oracle: 'refused leaves no mark' | 'taken back' | 'message', what: string) => void,
): Promise<void> {
  const message = statusMessage(answer);
  if (!message.includes('spec')) find('message', message);
  const after = await subject.read();
  if (!isDeepStrictEqual(after, before)) find('refused leaves no mark', differenceOf(after, before).join('; '));
  const { spec } = (before ?? {}) as { readonly spec?: object };
  const path = `${subject.path}?dryRun=All`;
  const again = await subject.send({ method: 'PATCH', path, body: { spec }, patch: { kind: 'merge' } });
  if (again.status >= 300) find('taken back', `${again.status} ${statusMessage(again)}`);
}

async function playSequence(subject: Subject, sequence: Sequence, number: number, tally: Tally): Promise<object> {
  const made = await subject.make(sequence.first);
  if (made.status >= 300) tally.find('rules', number, `refused when it is made: ${statusMessage(made)}`);
  for (const step of sequence.steps) {
    const before = await subject.read();
    const answer = await subject.change(step);
    const isAllowed = answer.status < 300;
    tally[isAllowed ? 'allowed' : 'refused'] += 1;
    if (isAllowed !== step.isAllowed) {
      const what = `${answer.status} ${statusMessage(answer)} to ${step.what}, after ${describe(sequence)}`;
      tally.find('rules', number, what);
    }
    if (isAllowed || step.anew !== undefined) continue;
    await judgeRefusal(subject, before, answer, (oracle, what) => {
      tally.find(oracle, number, `${what}: ${step.what}`);
    });
  }
  const end = written(await subject.read());
  await subject.remove();
  return end;
}

/** The pod that EvictionRequests are for, and nothing else of a cluster. */
async function openPart(client: KubeClient): Promise<ClusterPart> {
  const [node = ''] = nodeNamesOf('h');
  const body = podObject('intercepted', 'intercepted', NAMESPACE, node);
  const path = collectionPath(PODS, NAMESPACE);
  const { status, body: pod } = await client.send({ method: 'POST', path, body }, AbortSignal.timeout(CALL_MS));
  if (status !== 201) throw new Error(`the pod cannot be made: ${status} ${JSON.stringify(pod).slice(0, 500)}`);
  return { id: 'h', nodeNames: nodeNamesOf('h'), pods: () => [pod as Pod] } as unknown as ClusterPart;
}

/** Plays so many sequences of each subject, refused changes with the others, and the last object of each alone. */
export async function playReal(
  client: KubeClient,
  draws: readonly Draw[],
  { sequences, seed }: Amount,
  tally: Tally,
): Promise<void> {
  const part = await openPart(client);
  for (const draw of draws) {
    for (let number = 1; number <= sequences; number += 1) {
      const sequence = draw(part, createRandom(seedOf(seed, number)));
      const subject = new Subject(client, sequence, part);
      const end = await playSequence(subject, sequence, number, tally);
      const alone = await playSequence(subject, lastAlone(sequence), number, tally);
      tally.sequences += 1;
      const difference = differenceOf(end, alone);
      if (difference.length > 0) tally.find('last alone', number, `${difference.join('; ')}: ${describe(sequence)}`);
    }
  }
}
