/** The query API of Amazon EC2 Auto Scaling, as far as one instance with a lifecycle hook asks it. */
import { createHash, createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type MetadataServer, type Received, type Recorded, startMetadataServer } from './metadata-server.ts';

export interface AutoScalingScene {
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly token: string;
  readonly instance: string;
  readonly group: string;
  readonly hook: string;
}

/** The credentials of amazon-ec2-metadata-mock, whose name of a group has characters that XML and forms escape. */
export const MOCKED: AutoScalingScene = {
  region: 'us-east-1',
  accessKeyId: '12345678901',
  secretAccessKey: 'v/12345678901',
  token: 'TEST92test48TEST+y6RpoTEST92test48TEST/8oWVAiBqTEsT5Ky7ty2tEStxC1T==',
  instance: 'i-1234567890abcdef0',
  group: 'web & api <eu>',
  hook: 'nodemaint',
};

export interface AutoScaling extends AsyncDisposable {
  readonly url: string;
  /** The actions that were accepted, in their order. */
  readonly accepted: readonly string[];
  /** Every answer is this one instead, until it is taken back. */
  instead: Recorded | (() => Promise<Recorded>) | undefined;
}

function refusal(status: number, code: string, message: string): Recorded {
  const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error>`;
  const body = `<ErrorResponse xmlns="http://autoscaling.amazonaws.com/doc/2011-01-01/">${error}</ErrorResponse>`;
  return { status, body };
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text, 'utf8').digest();
const hash = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');

/** What is wrong with the signature: written from AWS's description of version 4, from the request as it came. */
function signatureProblem({ method, path, headers, body }: Received, scene: AutoScalingScene): Recorded | undefined {
  const form = /^AWS4-HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/;
  const [, credential = '', signedHeaders = '', signature] = form.exec(headers.authorization ?? '') ?? [];
  const time = String(headers['x-amz-date']);
  const scope = `${time.slice(0, 8)}/${scene.region}/autoscaling/aws4_request`;
  if (credential !== `${scene.accessKeyId}/${scope}`) return refusal(403, 'IncompleteSignature', credential);
  if (headers['x-amz-security-token'] !== scene.token) return refusal(403, 'InvalidClientTokenId', 'no such token');
  const names = signedHeaders.split(';');
  const must = ['content-type', 'host', 'x-amz-date', 'x-amz-security-token'];
  if (!must.every((name) => names.includes(name))) return refusal(403, 'SignatureDoesNotMatch', 'not all are signed');
  const at = Date.parse(time.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
  if (!(Math.abs(Date.now() - at) < 300_000)) return refusal(403, 'RequestExpired', 'Signature expired');
  let canonical = `${method}\n${path}\n\n`;
  for (const name of names) canonical += `${name}:${String(headers[name])}\n`;
  canonical += `\n${signedHeaders}\n${hash(body)}`;
  const dateKey = hmac(`AWS4${scene.secretAccessKey}`, time.slice(0, 8));
  const key = hmac(hmac(hmac(dateKey, scene.region), 'autoscaling'), 'aws4_request');
  const own = hmac(key, `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash(canonical)}`).toString('hex');
  return own === signature ? undefined : refusal(403, 'SignatureDoesNotMatch', 'The signature does not match');
}

/** The fields that each action must have, and no others, beside Action and Version. */
function fieldsOf(action: string, { group, hook, instance }: AutoScalingScene): object | undefined {
  const own = { AutoScalingGroupName: group, LifecycleHookName: hook, InstanceId: instance };
  switch (action) {
    case 'DescribeAutoScalingInstances':
      return { 'InstanceIds.member.1': instance };
    case 'RecordLifecycleActionHeartbeat':
      return own;
    case 'CompleteLifecycleAction':
      return { ...own, LifecycleActionResult: 'CONTINUE' };
    default:
      return undefined;
  }
}

/** Starts it. The instance waits for its hook until the action is completed. */
export async function startAutoScaling(scene: AutoScalingScene): Promise<AutoScaling> {
  const accepted: string[] = [];
  const answer = (request: Received): Recorded => {
    const problem = signatureProblem(request, scene);
    if (problem !== undefined) return problem;
    const { Action = '', Version, ...fields } = Object.fromEntries(new URLSearchParams(request.body));
    if (Version !== '2011-01-01') return refusal(400, 'InvalidAction', 'no such version');
    const expected = fieldsOf(Action, scene);
    if (expected === undefined || !isDeepStrictEqual(fields, expected)) {
      return refusal(400, 'ValidationError', `No active Lifecycle Action found with instance ID ${scene.instance}`);
    }
    if (Action !== 'DescribeAutoScalingInstances' && accepted.includes('CompleteLifecycleAction')) {
      return refusal(400, 'ValidationError', `No active Lifecycle Action found with instance ID ${scene.instance}`);
    }
    accepted.push(Action);
    const group = scene.group.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    const member = `<member><InstanceId>${scene.instance}</InstanceId><AutoScalingGroupName>${group}</AutoScalingGroupName></member>`;
    const result = `<AutoScalingInstances>${Action.startsWith('Describe') ? member : ''}</AutoScalingInstances>`;
    return { body: `<${Action}Response><${Action}Result>${result}</${Action}Result></${Action}Response>` };
  };
  const current: { instead: AutoScaling['instead'] } = { instead: undefined };
  const answers: MetadataServer['answers'] = {
    'POST /': (request) => {
      const { instead } = current;
      if (instead === undefined) return answer(request);
      return typeof instead === 'function' ? instead() : instead;
    },
  };
  const server = await startMetadataServer(answers);
  return {
    url: server.url,
    accepted,
    get instead() {
      return current.instead;
    },
    set instead(next) {
      current.instead = next;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
