/** Notices of the release of a spot machine: of Alibaba Cloud, five minutes before it, and of Tencent Cloud. */
import { createTokenReader, type Metadata, textOf } from './metadata.ts';
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

const ALIBABA_PATH = '/latest/meta-data/instance/spot/termination-time';

/** The source in which Alibaba Cloud announces the end of a spot machine; uses a token, which its hardened mode requires. */
export function alibabaSources(metadata: Metadata): readonly NoticeSource[] {
  const read = createTokenReader(metadata, 'X-aliyun-ecs-metadata-token');
  return [
    {
      name: 'alibaba spot/termination-time',
      everyMs: 5_000,
      read: async (signal) => {
        const time = bareTime(await read(ALIBABA_PATH, signal), ALIBABA_PATH);
        if (time === undefined) return [];
        const reason = 'Alibaba Cloud spot release';
        return [{ id: 'alibaba/spot', kind: 'preempt', reason, provider: 'alibaba', ...time }];
      },
    },
  ];
}
