/** Notices of the release of a spot machine: of Alibaba Cloud, five minutes before it, and of Tencent Cloud. */
import { type Metadata, metadataError, textOf } from './metadata.ts';
import { bareTime, type NoticeSource } from './notice-source.ts';

const TENCENT_PATH = '/latest/meta-data/spot/termination-time';

/** The source in which Tencent Cloud announces the end of a spot machine; times are China's, in every region. */
export function tencentSources(metadata: Metadata): readonly NoticeSource[] {
  return [
    {
      name: 'tencent spot/termination-time',
      everyMs: 5_000,
      read: async (signal) => {
        const text = textOf(await metadata.send({ path: TENCENT_PATH }, signal), TENCENT_PATH);
        const time = bareTime(text, TENCENT_PATH, '+08:00');
        if (time === undefined) return [];
        return [
          { id: 'tencent/spot', kind: 'preempt', reason: 'Tencent Cloud spot release', provider: 'tencent', ...time },
        ];
      },
    },
  ];
}

const TOKEN_PATH = '/latest/api/token';
const ALIBABA_PATH = '/latest/meta-data/instance/spot/termination-time';

/** The source in which Alibaba Cloud announces the end of a spot machine; uses a token, which its hardened mode requires. */
export function alibabaSources(metadata: Metadata): readonly NoticeSource[] {
  let token: string | undefined;
  const newToken = async (signal: AbortSignal): Promise<string> => {
    const headers = { 'X-aliyun-ecs-metadata-token-ttl-seconds': '21600' };
    const { status, body } = await metadata.send({ method: 'PUT', path: TOKEN_PATH, headers }, signal);
    if (status !== 200 || !/^[\x21-\x7e]{1,1024}$/.test(body)) {
      throw metadataError(`PUT ${TOKEN_PATH}: no token (HTTP ${status})`);
    }
    return body;
  };
  return [
    {
      name: 'alibaba spot/termination-time',
      everyMs: 5_000,
      read: async (signal) => {
        token ??= await newToken(signal);
        const answer = await metadata.send(
          { path: ALIBABA_PATH, headers: { 'X-aliyun-ecs-metadata-token': token } },
          signal,
        );
        // The service answers 403 or 401 to an expired token.
        if (answer.status !== 200 && answer.status !== 404) token = undefined;
        const time = bareTime(textOf(answer, ALIBABA_PATH), ALIBABA_PATH);
        if (time === undefined) return [];
        const reason = 'Alibaba Cloud spot release';
        return [{ id: 'alibaba/spot', kind: 'preempt', reason, provider: 'alibaba', ...time }];
      },
    },
  ];
}
