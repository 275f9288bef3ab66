/** Notices of Amazon EC2, from its instance metadata service, version 2 only. */
import * as z from 'zod';
import { createTokenReader, type Metadata, metadataError, parseJson } from './metadata.ts';
import { type NoticeSource, timed } from './notice-source.ts';
import type { Notice, NoticeKind } from '../decide/notice/notices.ts';

const ROOT = '/latest/meta-data';

/** A time that is missing or odd is one that cannot be read: the notice stands. */
const TIME = z.string().max(100).catch('');
const spotSchema = z.object({ action: z.enum(['terminate', 'stop', 'hibernate']), time: TIME });
const eventSchema = z.object({
  Code: z.string().max(100).catch(''),
  EventId: z.string().min(1).max(200),
  State: z.string().max(100),
  Description: z.string().max(1000).catch(''),
  NotBefore: TIME,
});
const eventsSchema = z.array(eventSchema.optional().catch(undefined)).max(100);

/** All values of autoscaling/target-lifecycle-state; true for those in which the machine ends. */
const LIFECYCLE: ReadonlyMap<string, boolean> = new Map(
  Object.entries({
    InService: false,
    Standby: false,
    Detached: false,
    'Warmed:Running': false,
    'Warmed:Stopped': true,
    'Warmed:Hibernated': true,
    'Warmed:Terminated': true,
    Terminated: true,
  }),
);

/** The sources in which EC2 announces the end of a machine. */
export function awsSources(metadata: Metadata): readonly NoticeSource[] {
  const read = createTokenReader(metadata, 'X-aws-ec2-metadata-token');
  const provider = 'aws';
  const source = (
    path: string,
    everyMs: number,
    parse: (text: string | undefined) => readonly Notice[],
  ): NoticeSource => ({
    name: `${provider} ${path}`,
    everyMs,
    read: async (signal) => parse(await read(`${ROOT}/${path}`, signal)),
  });

  const spot = (text: string | undefined): readonly Notice[] => {
    const found = parseJson(spotSchema, text, 'spot/instance-action');
    if (found === undefined) return [];
    // Hibernation begins at once, whatever the time is.
    const time = found.action === 'hibernate' ? {} : timed(found.time);
    return [{ id: 'aws/spot', kind: 'preempt', reason: `EC2 spot interruption: ${found.action}`, provider, ...time }];
  };
  const scheduled = (text: string | undefined): readonly Notice[] =>
    (parseJson(eventsSchema, text, 'maintenance/scheduled') ?? []).flatMap((event): Notice[] => {
      if (event?.State !== 'active') return [];
      const reason = `EC2 scheduled event ${event.Code}: ${event.Description}`.replace(/: $/, '');
      return [{ id: `aws/${event.EventId}`, kind: 'reboot', reason, provider, ...timed(event.NotBefore) }];
    });
  const lifecycle = (text: string | undefined): readonly Notice[] => {
    if (text === undefined) return [];
    const ends = LIFECYCLE.get(text);
    if (ends === undefined)
      throw metadataError(`autoscaling/target-lifecycle-state: not a state: ${text.slice(0, 60)}`);
    const kind: NoticeKind = 'terminate';
    return ends ? [{ id: `aws/${text}`, kind, reason: `EC2 Auto Scaling: target state ${text}`, provider }] : [];
  };

  return [
    source('spot/instance-action', 5_000, spot),
    source('autoscaling/target-lifecycle-state', 10_000, lifecycle),
    source('events/maintenance/scheduled', 60_000, scheduled),
  ];
}
