import assert from 'node:assert/strict';
import type { KubeClient, KubeRequest, KubeResponse } from '../../../src/kube/client.ts';
import { statusMessage } from '../../../src/kube/request.ts';
import type { Actor, Scene } from './scene.ts';

/** What refuses an attack, and how its refusal looks. */
export interface Refuser {
  readonly by: string;
  readonly statuses: readonly number[];
  readonly words: readonly RegExp[];
}

/** An attack: a call that is refused, or a consequence that does not come. */
export interface Attack {
  /** What the attacker does, without who it is. */
  readonly name: string;
  readonly refusedBy: string;
  /** Tries it; throws an AssertionError unless it is in vain for the reason that `refusedBy` names. */
  attempt(scene: Scene): Promise<void>;
}

/** Attacks of one identity on one kind of thing, and a call of the same kind that an identity with the right may make. */
export interface Family {
  /** Whose identity it is, and on what. */
  readonly title: string;
  readonly control: Control;
  readonly attacks: readonly Attack[];
}

/** What an identity that has the right may do, with the call that the attacks of the family make. */
export interface Control {
  readonly name: string;
  attempt(scene: Scene): Promise<void>;
}

/** Makes a request for a scene, whose objects have names that are not known before. */
export type Call = (scene: Scene) => KubeRequest;

/** A policy of the product, by its name and its words. */
export function policy(name: string, words: RegExp): Refuser {
  const denied = new RegExp(`ValidatingAdmissionPolicy '${name}' with binding .* denied request`, 'u');
  return { by: `policy ${name}`, statuses: [403, 422], words: [denied, words] };
}

/** The schema of a CRD. */
export function schema(words: RegExp): Refuser {
  return { by: 'CRD schema', statuses: [422], words: [/is invalid/u, words] };
}

/** Fails unless the answer is that refusal. */
export function assertRefusedBy(response: KubeResponse, { statuses, words }: Refuser): void {
  const message = `${response.status}: ${statusMessage(response)}`;
  assert.ok(response.status >= 400, `it succeeded: ${JSON.stringify(response.body).slice(0, 400)}`);
  assert.ok(statuses.includes(response.status), message);
  for (const each of words) assert.match(statusMessage(response), each);
}

/** Sends a request under an identity. */
export async function sendAs(client: KubeClient, request: KubeRequest): Promise<KubeResponse> {
  return await client.send(request, AbortSignal.timeout(30_000));
}

/** An attack that is one call, and refused at once. */
export function refused(attacker: Actor, name: string, refuser: Refuser, call: Call): Attack {
  return {
    name,
    refusedBy: refuser.by,
    attempt: async (scene) => assertRefusedBy(await sendAs(scene.clients[attacker], call(scene)), refuser),
  };
}

/** A call that is carried out. */
export function allowed(actor: Actor, name: string, call: Call): Control {
  return {
    name,
    attempt: async (scene) => {
      const response = await sendAs(scene.clients[actor], call(scene));
      assert.ok(response.status >= 200 && response.status < 300, `${response.status}: ${statusMessage(response)}`);
    },
  };
}
