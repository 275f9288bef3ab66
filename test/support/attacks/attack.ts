import assert from 'node:assert/strict';
import type { KubeClient, KubeRequest, KubeResponse } from '../../../src/kube/client.ts';
import { statusMessage } from '../../../src/kube/resource.ts';
import type { Scene } from './scene.ts';

/** Whose identity an attack has. */
export type Attacker = 'n1' | 'keeper' | 'editor' | 'anybody' | 'requester' | 'interceptor' | 'controller';

/** What refuses an attack: how the documentation calls it, and how its refusal looks. */
export interface Refuser {
  readonly by: string;
  readonly statuses: readonly number[];
  readonly words: readonly RegExp[];
}

/** An attack: a call that is refused, or a consequence that does not come. */
export interface Attack<S = Scene> {
  /** What the attacker does, without who it is. */
  readonly name: string;
  readonly refusedBy: string;
  /** Tries it; throws an AssertionError unless it is in vain for the reason that `refusedBy` names. */
  attempt(scene: S): Promise<void>;
}

/** Attacks of one identity on one kind of thing, and a call of the same kind that another identity may make. */
export interface Family<S = Scene, A = Attacker> {
  readonly attacker: A;
  /** On what. */
  readonly title: string;
  readonly control: Control<S>;
  readonly attacks: readonly Attack<S>[];
}

/** What an identity that has the right may do, with the call that the attacks of the family make. */
export interface Control<S = Scene> {
  readonly name: string;
  attempt(scene: S): Promise<void>;
}

/** Makes a request for a scene, whose objects have names that are not known before. */
export type Call = (scene: Scene) => KubeRequest;

/** The authorizers: RBAC, and for nodes the Node authorizer beside it. */
export const RBAC: Refuser = {
  by: 'RBAC',
  statuses: [403],
  words: [/ cannot [\w:-]+ resource (?!.*: (?:no relationship found|node 'n1' |can only))/u],
};
/** The Node authorizer alone, where RBAC does not know nodes. */
export const NODE_AUTHORIZER: Refuser = {
  by: 'Node authorizer',
  statuses: [403],
  words: [/ cannot \w+ resource .*: (?:no relationship found|node 'n1' |can only)/u],
};

/** The admission plugin NodeRestriction. */
export function nodeRestriction(words: RegExp): Refuser {
  return { by: 'NodeRestriction', statuses: [403], words: [/is forbidden: .*node/u, words] };
}

/** A policy of the product, by its name and its words; of several that refuse, the API server names any one. */
export function policy(name: string, words: RegExp, ...others: readonly string[]): Refuser {
  const names = [name, ...others];
  const denied = new RegExp(`ValidatingAdmissionPolicy '(?:${names.join('|')})' with binding .* denied request`, 'u');
  return { by: `policy ${names.join(', ')}`, statuses: [403, 422], words: [denied, words] };
}

/** The schema of a CRD. */
export function schema(words: RegExp): Refuser {
  return { by: 'CRD schema', statuses: [422], words: [/is invalid/u, words] };
}

/** The API server's own rules for all objects. */
export function apiServer(words: RegExp): Refuser {
  return { by: 'API server', statuses: [400, 404, 405, 409, 422], words: [words] };
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
export function refused(attacker: Attacker, name: string, refuser: Refuser, call: Call): Attack {
  return {
    name,
    refusedBy: refuser.by,
    attempt: async (scene) => assertRefusedBy(await sendAs(scene.clients[attacker], call(scene)), refuser),
  };
}

/** A call that is carried out. */
export function allowed(actor: keyof Scene['clients'], name: string, call: Call): Control {
  return {
    name,
    attempt: async (scene) => {
      const response = await sendAs(scene.clients[actor], call(scene));
      assert.ok(response.status >= 200 && response.status < 300, `${response.status}: ${statusMessage(response)}`);
    },
  };
}
