/** Notices of Microsoft Azure: the Scheduled Events of its instance metadata service. */
import * as z from 'zod';
import { type Metadata, metadataError, parseJson, textOf } from './metadata.ts';
import { type NoticeSource, timed } from './notice-source.ts';
import type { Notice, NoticeKind } from '../decide/notice/notices.ts';

const EVENTS_PATH = '/metadata/scheduledevents?api-version=2020-07-01';
const NAME_PATH = '/metadata/instance/compute/name?api-version=2021-02-01&format=text';
const HEADERS = { Metadata: 'true' };
/** The first request enables the service, which takes up to two minutes; longer than this it has failed. */
const FIRST_TIMEOUT_MS = 130_000;

const KINDS: ReadonlyMap<string, NoticeKind> = new Map(
  Object.entries({ Preempt: 'preempt', Terminate: 'terminate', Reboot: 'reboot', Redeploy: 'reboot' }),
);
const eventSchema = z.object({
  EventId: z.string().min(1).max(200),
  EventType: z.string().max(100),
  Resources: z.array(z.string().max(300)).max(5000),
  // An event that has started has no time.
  NotBefore: z.string().max(100).catch(''),
  Description: z.string().max(1000).catch(''),
});
type ScheduledEvent = z.infer<typeof eventSchema>;
const eventsSchema = z.object({ Events: z.array(eventSchema.optional().catch(undefined)).max(500) });

/** The source of the Scheduled Events of this machine. The service also lists those of other machines in its availability set. */
export function azureSources(metadata: Metadata): readonly NoticeSource[] {
  const provider = 'azure';
  let ownName: string | undefined;
  let isOn = false;

  const readName = async (signal: AbortSignal): Promise<string> => {
    const answer = await metadata.send({ path: NAME_PATH, headers: HEADERS }, signal);
    const name = textOf(answer, 'compute/name') ?? '';
    // For a machine of a scale set it is SCALESET_ID, as in the events.
    if (!/^[\w.-]{1,300}$/.test(name)) throw metadataError('compute/name: not the name of a machine');
    return name.toLowerCase();
  };
  const noticeOf = ({ EventId, EventType, NotBefore, Description }: ScheduledEvent): readonly Notice[] => {
    const kind = KINDS.get(EventType);
    if (kind === undefined) return [];
    const reason = `Azure ${EventType}: ${Description}`.replace(/: $/, '');
    return [{ id: `azure/${EventId}`, kind, reason, provider, ...(NotBefore === '' ? {} : timed(NotBefore)) }];
  };

  return [
    {
      name: `${provider} scheduledevents`,
      everyMs: 2_000,
      read: async (signal) => {
        ownName ??= await readName(signal);
        const request = { path: EVENTS_PATH, headers: HEADERS };
        const answer = await metadata.send(isOn ? request : { ...request, timeoutMs: FIRST_TIMEOUT_MS }, signal);
        const text = textOf(answer, 'scheduledevents');
        isOn = true;
        const events = parseJson(eventsSchema, text, 'scheduledevents')?.Events ?? [];
        return events.flatMap((event) =>
          event?.Resources.some((name) => name.toLowerCase() === ownName) === true ? noticeOf(event) : [],
        );
      },
    },
  ];
}
