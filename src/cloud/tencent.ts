/** Notices of Tencent Cloud: the release of a spot machine. */
import { type Metadata, textOf } from './metadata.ts';
import type { NoticeSource } from './notice-source.ts';
import { bareTime } from './notice-times.ts';

const PATH = '/latest/meta-data/spot/termination-time';

/** The source in which Tencent Cloud announces the end of a spot machine; times are China's, in every region. */
export function tencentSources(metadata: Metadata): readonly NoticeSource[] {
  return [
    {
      name: 'tencent spot/termination-time',
      everyMs: 5_000,
      read: async (signal) => {
        const text = textOf(await metadata.send({ path: PATH }, signal), PATH);
        const time = bareTime(text, PATH, '+08:00');
        if (time === undefined) return [];
        return [
          { id: 'tencent/spot', kind: 'preempt', reason: 'Tencent Cloud spot release', provider: 'tencent', ...time },
        ];
      },
    },
  ];
}
