import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLifecycleActions, type LifecycleActions } from '../../../src/cloud/aws-auto-scaling.ts';
import { providerSources } from '../../../src/cloud/providers.ts';
import { MOCKED, startAutoScaling } from '../../support/stand-ins/auto-scaling.ts';
import { ec2Answers, type Recorded, startMetadataServer } from '../../support/stand-ins/metadata-server.ts';

const SIGNAL = AbortSignal.timeout(60_000);
const ROLE = '/iam/security-credentials/';
const PATHS: Readonly<Record<string, string>> = {
  '/placement/region': MOCKED.region,
  '/instance-id': MOCKED.instance,
  '/services/domain': 'amazonaws.com',
  [ROLE]: 'node-role',
  [`${ROLE}node-role`]: JSON.stringify({
    Code: 'Success',
    AccessKeyId: MOCKED.accessKeyId,
    SecretAccessKey: MOCKED.secretAccessKey,
    Token: MOCKED.token,
  }),
};

function actionsAt(url: string | undefined, paths = PATHS): LifecycleActions {
  const hook = { name: MOCKED.hook, heartbeatMs: 60_000, url, now: Date.now };
  return createLifecycleActions({ hook, read: (path) => Promise.resolve(paths[path]) });
}

describe('the lifecycle hook of an Auto Scaling group', () => {
  it('the group is found, waits while it hears of the drain, and goes on when it is told so', async () => {
    await using group = await startAutoScaling(MOCKED);
    const actions = actionsAt(group.url);
    await actions.heartbeat(SIGNAL);
    await actions.heartbeat(SIGNAL);
    await actions.complete(SIGNAL);
    assert.deepEqual(group.accepted, [
      'DescribeAutoScalingInstances',
      'RecordLifecycleActionHeartbeat',
      'RecordLifecycleActionHeartbeat',
      'CompleteLifecycleAction',
    ]);
  });

  it('the end of a hook that waits no longer is no failure, and a heartbeat to it is one', async () => {
    await using group = await startAutoScaling(MOCKED);
    const actions = actionsAt(group.url);
    await actions.complete(SIGNAL);
    await actions.complete(SIGNAL);
    await assert.rejects(actions.heartbeat(SIGNAL), {
      code: 'METADATA_FAILED',
      message: `EC2 Auto Scaling, RecordLifecycleActionHeartbeat of the hook nodemaint: HTTP 400, ValidationError, No active Lifecycle Action found with instance ID ${MOCKED.instance}`,
    });
  });

  it('a role that has been replaced is used with its new credentials, and wrong ones are refused by name', async () => {
    await using group = await startAutoScaling(MOCKED);
    const paths: Record<string, string> = { ...PATHS };
    const actions = actionsAt(group.url, paths);
    paths[`${ROLE}node-role`] = String(PATHS[`${ROLE}node-role`]).replace(MOCKED.secretAccessKey, 'other');
    await assert.rejects(actions.complete(SIGNAL), /HTTP 403, SignatureDoesNotMatch/);
    paths[`${ROLE}node-role`] = String(PATHS[`${ROLE}node-role`]);
    await actions.complete(SIGNAL);
  });

  it('a page of somebody else is no consent of the group that was found', async () => {
    await using group = await startAutoScaling(MOCKED);
    const actions = actionsAt(group.url);
    await actions.heartbeat(SIGNAL);
    group.instead = { body: '<html>Log in</html>' };
    await assert.rejects(actions.complete(SIGNAL), /the answer is none of EC2 Auto Scaling/);
  });

  const hostile: Readonly<Record<string, Recorded>> = {
    'a redirect': { status: 307, headers: { location: 'http://127.0.0.1:9/' } },
    'a page': { body: '<!doctype html><html>Log in</html>' },
    'an endless answer': { body: '<a>'.repeat(40_000) },
    'an error of the server': { status: 500, body: 'x'.repeat(40_000) },
    'an empty answer': { body: '' },
  };
  for (const [what, answer] of Object.entries(hostile)) {
    it(`${what} of the group is a failure of one sentence`, async () => {
      await using group = await startAutoScaling(MOCKED);
      group.instead = answer;
      await assert.rejects(actionsAt(group.url).complete(SIGNAL), (error: Error) => {
        assert.match(error.message, /^EC2 Auto Scaling, CompleteLifecycleAction of the hook nodemaint: /);
        return error.message.length < 600;
      });
    });
  }

  it('a group that does not answer is left when the agent ends', async () => {
    await using group = await startAutoScaling(MOCKED);
    const { promise: asked, resolve } = Promise.withResolvers<undefined>();
    group.instead = () => {
      resolve(undefined);
      return new Promise<Recorded>(() => undefined);
    };
    const end = new AbortController();
    const told = actionsAt(group.url).complete(end.signal);
    await asked;
    end.abort(new Error('the agent ends'));
    await assert.rejects(told, /the agent ends/);
  });

  const wrong: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'a region that is a path': { '/placement/region': 'us-east-1/../x' },
    'a domain of somebody else': { '/services/domain': 'amazonaws.com.example.org' },
    'an instance with a line break': { '/instance-id': 'i-1234567890abcdef0\nx: y' },
    'a role that is a path': { [ROLE]: '../../latest' },
    'a token that is no header': {
      [`${ROLE}node-role`]: JSON.stringify({ AccessKeyId: 'a', SecretAccessKey: 'b', Token: 'a\r\nb: c' }),
    },
    'no role': { [ROLE]: '' },
  };
  for (const [what, paths] of Object.entries(wrong)) {
    it(`${what} from the metadata service sends nothing to anybody`, async () => {
      await using group = await startAutoScaling(MOCKED);
      const url = what.startsWith('a domain') ? undefined : group.url;
      await assert.rejects(actionsAt(url, { ...PATHS, ...paths }).complete(SIGNAL), { code: 'METADATA_FAILED' });
      assert.deepEqual(group.accepted, []);
    });
  }

  it('an instance of no group is named', async () => {
    await using group = await startAutoScaling(MOCKED);
    group.instead = { body: '<DescribeAutoScalingInstancesResponse/>' };
    await assert.rejects(actionsAt(group.url).heartbeat(SIGNAL), /i-1234567890abcdef0 is in no group/);
  });
});

describe('the source of the target lifecycle state', () => {
  const hearing = async (hook: boolean): Promise<readonly boolean[]> => {
    await using server = await startMetadataServer(ec2Answers({}));
    const own = { name: 'nodemaint', heartbeatMs: 60_000, url: undefined, now: Date.now };
    const options = { metadataUrl: server.url, azureStartRequests: false, awsLifecycleHook: hook ? own : undefined };
    const { sources, close } = providerSources('aws', options);
    close();
    return sources.map(({ acknowledge, moreTime }) => acknowledge !== undefined && moreTime !== undefined);
  };

  it('the source tells the group only where a hook is configured', async () => {
    assert.deepEqual(await hearing(false), [false, false, false, false]);
    assert.deepEqual(await hearing(true), [false, false, true, false]);
  });

  it('the source tells the group nothing about notices of others', async () => {
    await using server = await startMetadataServer();
    const awsLifecycleHook = { name: 'nodemaint', heartbeatMs: 60_000, url: server.url, now: Date.now };
    const { sources, close } = providerSources('aws', {
      metadataUrl: server.url,
      azureStartRequests: false,
      awsLifecycleHook,
    });
    for (const id of ['aws/spot', 'aws/Warmed:Stopped', 'file/drain-me']) {
      await sources[2]?.moreTime?.ask(id, SIGNAL);
      await sources[2]?.acknowledge?.(id, SIGNAL);
    }
    close();
    assert.deepEqual(server.received, []);
  });
});
