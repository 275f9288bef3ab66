/**
 * The lifecycle hook of an Amazon EC2 Auto Scaling group: while an instance is being terminated, the group waits for whoever
 * serves the hook. Loaded only where a hook is configured.
 */
import * as z from 'zod';
import { describeError } from '../errors.ts';
import { type AwsCredentials, signPost } from './aws-signature.ts';
import { metadataError, parseJson, readBody } from './metadata.ts';

/** The hook that is served, as configured. */
export interface LifecycleHook {
  readonly name: string;
  /** After how long the group is told again that the instance is not ready, in milliseconds. */
  readonly heartbeatMs: number;
  /** Another address than that of the region, such as one of a private endpoint. */
  readonly url: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

interface LifecycleActionDependencies {
  readonly hook: LifecycleHook;
  /** Reads a path below /latest/meta-data; undefined where there is nothing. */
  readonly read: (path: string, signal: AbortSignal) => Promise<string | undefined>;
}

/** What is told to the group. Both throw METADATA_FAILED, after 20 s at most. */
export interface LifecycleActions {
  /** Lets the group wait for another time-out of its hook. */
  heartbeat(signal: AbortSignal): Promise<void>;
  /** Lets the group terminate the instance. One that waits no longer is no failure. */
  complete(signal: AbortSignal): Promise<void>;
}

const LIMIT_MS = 20_000;
const CREDENTIALS = '/iam/security-credentials/';
const CONTENT_TYPE = 'application/x-www-form-urlencoded; charset=utf-8';
/** A token is sent as a header, so it may contain only characters that are valid in one. */
const headerText = z.string().regex(/^[\x21-\x7e]{1,4096}$/);
const credentialsSchema = z.object({ AccessKeyId: headerText, SecretAccessKey: headerText, Token: headerText });

/** Where the instance is, and the group that it belongs to. */
interface Place {
  readonly region: string;
  readonly url: URL;
  readonly instance: string;
}

type Read = LifecycleActionDependencies['read'];

async function readMatching(read: Read, path: string, form: RegExp, signal: AbortSignal): Promise<string> {
  const text = await read(path, signal);
  if (text === undefined || !form.test(text)) throw metadataError(`${path}: not there, or not of the expected form`);
  return text;
}

async function findPlace(read: Read, configured: string | undefined, signal: AbortSignal): Promise<Place> {
  const region = await readMatching(read, '/placement/region', /^[a-z]{2,10}(-[a-z]{1,20}){1,3}-\d{1,2}$/, signal);
  const instance = await readMatching(read, '/instance-id', /^i-[0-9a-f]{8,32}$/, signal);
  const found = async (): Promise<string> => {
    // The session token of the role is sent there, so nothing but a domain of AWS will do.
    const domain = await readMatching(read, '/services/domain', /^amazonaws\.(com|com\.cn|eu)$/, signal);
    return `https://autoscaling.${region}.${domain}`;
  };
  return { region, instance, url: new URL('/', configured ?? (await found())) };
}

async function readCredentials(read: Read, signal: AbortSignal): Promise<AwsCredentials> {
  const role = await read(CREDENTIALS, signal);
  if (role === undefined || role === '') throw metadataError('the instance has no role, so it has no credentials');
  if (!/^[\w+=,.@-]{1,128}$/.test(role)) throw metadataError(`${CREDENTIALS}: not the name of a role`);
  const found = parseJson(credentialsSchema, await read(CREDENTIALS + role, signal), `credentials of the role ${role}`);
  if (found === undefined) throw metadataError(`the role ${role} has no credentials`);
  return { accessKeyId: found.AccessKeyId, secretAccessKey: found.SecretAccessKey, sessionToken: found.Token };
}

const ENTITIES: ReadonlyMap<string, string> = new Map(
  Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", '#39': "'" }),
);

/** The text of the first element of this name in an answer that is XML; undefined where there is none. */
function elementText(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]{1,2000})</${name}>`).exec(xml)?.[1];
  return text?.replaceAll(/&(#?\w{2,4});/g, (entity, key: string) => ENTITIES.get(key) ?? entity);
}

/** An answer that is no success: the code and the words of AWS. */
class Refusal extends Error {}

async function post(url: URL, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
  const text = answer.body === null ? '' : await readBody(answer.body);
  if (answer.status === 200) return text;
  const [code, message] = [elementText(text, 'Code'), elementText(text, 'Message')];
  throw new Refusal([`HTTP ${answer.status}`, code, message?.slice(0, 300)].filter(Boolean).join(', '));
}

class GroupClient implements LifecycleActions {
  readonly #dependencies: LifecycleActionDependencies;
  #place: Place | undefined;
  #group: string | undefined;

  constructor(dependencies: LifecycleActionDependencies) {
    this.#dependencies = dependencies;
  }

  async heartbeat(signal: AbortSignal): Promise<void> {
    await this.#act('RecordLifecycleActionHeartbeat', {}, signal);
  }

  async complete(signal: AbortSignal): Promise<void> {
    try {
      await this.#act('CompleteLifecycleAction', { LifecycleActionResult: 'CONTINUE' }, signal);
    } catch (error) {
      // The time-out of the hook may be over, or an agent before a restart may have said it.
      if (!describeError(error).includes('No active Lifecycle Action found')) throw error;
    }
  }

  async #act(action: string, more: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
    const { hook, read } = this.#dependencies;
    try {
      this.#place ??= await findPlace(read, hook.url, within);
      const { instance } = this.#place;
      this.#group ??= await this.#findGroup(this.#place, within);
      const fields = { AutoScalingGroupName: this.#group, LifecycleHookName: hook.name, InstanceId: instance, ...more };
      await this.#call(this.#place, action, fields, within);
    } catch (error) {
      signal.throwIfAborted();
      const why = within.aborted ? `no answer within ${LIMIT_MS / 1000} s` : describeError(error);
      throw metadataError(`EC2 Auto Scaling, ${action} of the hook ${hook.name}: ${why}`, error);
    }
  }

  async #findGroup(place: Place, signal: AbortSignal): Promise<string> {
    const fields = { 'InstanceIds.member.1': place.instance };
    const group = elementText(
      await this.#call(place, 'DescribeAutoScalingInstances', fields, signal),
      'AutoScalingGroupName',
    );
    if (group === undefined) throw metadataError(`${place.instance} is in no group`);
    return group;
  }

  async #call(
    { url, region }: Place,
    action: string,
    fields: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<string> {
    const { read, hook } = this.#dependencies;
    const credentials = await readCredentials(read, signal);
    const body = new URLSearchParams({ Action: action, Version: '2011-01-01', ...fields }).toString();
    const scope = { region, service: 'autoscaling', at: hook.now() };
    const headers = signPost({ url, contentType: CONTENT_TYPE, body }, credentials, scope);
    const answer = await post(url, headers, body, signal);
    if (!answer.includes(`<${action}Response`)) throw metadataError('the answer is none of EC2 Auto Scaling');
    return answer;
  }
}

/** Nothing is asked before something is to be told. The group and the region are asked for once. */
export function createLifecycleActions(dependencies: LifecycleActionDependencies): LifecycleActions {
  return new GroupClient(dependencies);
}
