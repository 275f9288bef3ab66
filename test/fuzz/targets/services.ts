/** Answers of services as values: admission reviews, metadata services, systemd and logind, events of a watch. */
import * as fc from 'fast-check';
import type { KubeObject } from '../../../src/api/meta.ts';
import { alibabaSources } from '../../../src/cloud/alibaba.ts';
import { awsSources } from '../../../src/cloud/aws.ts';
import { azureSources } from '../../../src/cloud/azure.ts';
import { gcpSources } from '../../../src/cloud/gcp.ts';
import type { Metadata } from '../../../src/cloud/metadata.ts';
import type { NoticeSource } from '../../../src/cloud/notice-source.ts';
import { tencentSources } from '../../../src/cloud/tencent.ts';
import { parseReview, reviewAnswer } from '../../../src/controller/webhook/eviction-review.ts';
import { parseMaintenanceReview, warningsAnswer } from '../../../src/controller/webhook/maintenance-review.ts';
import { decideTimes } from '../../../src/decide/eviction/times.ts';
import { maintenanceWarnings } from '../../../src/decide/maintenance/warnings.ts';
import { decideNotices } from '../../../src/decide/notice/notices.ts';
import { BusCallError, type SystemBus } from '../../../src/host/dbus/bus.ts';
import { createLogin1 } from '../../../src/host/systemd/login1.ts';
import { createSystemd } from '../../../src/host/systemd/systemd1.ts';
import { createSteppingClock } from '../../support/stand-ins/stepping-clock.ts';
import { mutatedJson, mutatedText, mutatedValue } from '../mutate.ts';
import { assertFinite, attempt, type FuzzInput, type FuzzTarget, textTarget } from '../target.ts';

const NOW = Date.UTC(2026, 6, 1, 12);
const SIGNAL = new AbortController().signal;

const TIMES = {
  startTime: '2026-07-01T12:00:00Z',
  heartbeatTime: '2026-07-01T12:00:00Z',
  expectedFinishTime: '2026-07-01T12:30:00Z',
};
const REQUEST = {
  metadata: { name: 'u', namespace: 'default', uid: 'r', creationTimestamp: '2026-07-01T11:00:00Z' },
  spec: { target: { pod: { name: 'p', uid: 'u' } } },
  status: { activeInterceptors: ['a/b'], interceptors: [{ name: 'a/b', message: '', ...TIMES }], conditions: [] },
};
function review(object: FuzzInput, resource: string, subResource: string): FuzzInput {
  const kind = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' };
  return {
    ...kind,
    request: {
      uid: 'x',
      operation: 'UPDATE',
      resource: { group: 'coordination.x-k8s.io', version: 'v1alpha1', resource },
      subResource,
      userInfo: { username: 'a' },
      object,
      oldObject: object,
    },
  };
}
const MAINTENANCE = {
  metadata: { name: 'm' },
  spec: {
    nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }] },
  },
};

/** Sources of one cloud, whose every answer is the input. */
function cloudTarget(
  name: string,
  sourcesOf: (metadata: Metadata) => readonly NoticeSource[],
  inputs: fc.Arbitrary<string>,
): FuzzTarget {
  return {
    name,
    inputs: fc.record({ status: fc.constantFrom(200, 200, 200, 404, 500), body: inputs, etag: fc.string() }),
    open: () => ({
      run: async (input) => {
        const answer = input as { readonly status: number; readonly body: string; readonly etag: string };
        const metadata: Metadata = {
          send: () => Promise.resolve({ ...answer, body: answer.body.trim() }),
          close: () => undefined,
        };
        for (const source of sourcesOf(metadata)) {
          const notices = (await attempt(() => source.read(SIGNAL))) ?? [];
          assertFinite(notices, 'notices');
          const seen = notices.map((notice) => ({ notice, seenAt: NOW, served: false }));
          assertFinite(decideNotices(seen, { rebalance: 'drain', freeze: 'drain', leadMs: 60_000 }, NOW), 'decision');
        }
      },
    }),
  };
}

const AWS = mutatedText(
  '{"action":"terminate","time":"2026-07-01T12:02:00Z"}',
  '{"noticeTime":"2026-07-01T12:00:00Z"}',
  '[{"NotBefore":"1 Jul 2026 12:00:00 GMT","Code":"system-reboot","EventId":"i-1","State":"active","Description":"x"}]',
  'Terminated',
);
const GCP = mutatedText(
  'TRUE',
  'NONE',
  'TERMINATE_ON_HOST_MAINTENANCE',
  '{"maintenanceStatus":"PENDING","windowStartTime":"2026-07-01T12:00:00Z","canReschedule":true}',
);
const AZURE = mutatedJson({
  DocumentIncarnation: 1,
  Events: [
    {
      EventId: 'e',
      EventType: 'Preempt',
      ResourceType: 'VirtualMachine',
      Resources: ['vm'],
      EventStatus: 'Scheduled',
      NotBefore: 'Wed, 01 Jul 2026 12:00:00 GMT',
      Description: '',
      EventSource: 'Platform',
      DurationInSeconds: -1,
    },
  ],
});

/** Bigints as JSON carries them: "12n". */
function revive(value: unknown): unknown {
  if (typeof value === 'string' && /^-?\d+n$/.test(value)) return BigInt(value.slice(0, -1));
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, revive(inner)]));
}

const BODIES = mutatedValue(
  fc.constantFrom<FuzzInput>(
    [['reboot', '1780000000000000n']],
    [[[['shutdown', 'nodemaint', 'drains', 'delay', 0, 12]]]],
    [true, { type: 'reboot' }],
    ['running'],
    ['604800000000n'],
    [[['reboot.target', 'x', 'loaded', 'inactive', 'dead', '', '/o/u', 7, 'start', '/o/j']]],
    [7],
  ),
);

/** Everything that is asked of the bus is answered by the input. */
async function bus(body: readonly unknown[]): Promise<void> {
  const listeners: ((signal: readonly unknown[]) => void)[] = [];
  const fake: SystemBus = {
    clock: createSteppingClock(),
    call: () => Promise.resolve(body),
    getProperty: () => (body.length === 0 ? Promise.reject(new BusCallError('a.b', 'no')) : Promise.resolve(body[0])),
    subscribe: (_match, listener) => {
      listeners.push(listener);
    },
    onReconnect: () => undefined,
  };
  const login1 = createLogin1(fake, { scheduledFile: '/nonexistent' });
  login1.onPrepareForShutdown(() => undefined);
  login1.onScheduleChange(() => undefined);
  for (const listener of listeners) listener(body);
  const systemd = createSystemd(fake);
  const reads = [
    () => login1.processId(SIGNAL),
    () => login1.preparingForShutdown(SIGNAL),
    () => login1.scheduledShutdown(SIGNAL),
    () => login1.inhibitDelayMaxMs(SIGNAL),
    () => login1.listInhibitors(SIGNAL),
    () => login1.shutdownRequester(SIGNAL),
    () => systemd.systemState(SIGNAL),
    () => systemd.isGoingDown(SIGNAL),
    () => systemd.queuedShutdown(SIGNAL),
    () => systemd.softReboots(SIGNAL),
    () => systemd.unitProperty('a.service', 'Service', 'MainPID', SIGNAL),
    () => systemd.services(['kubelet*.service'], 1_000, SIGNAL),
    () => systemd.unitActiveState('a.service', SIGNAL),
  ];
  for (const [index, read] of reads.entries()) assertFinite(await attempt<unknown>(read), `answer ${index}`);
}

/** The targets that are answers of services. */
export const SERVICE_TARGETS: readonly FuzzTarget[] = [
  textTarget('review-status', mutatedJson(review(REQUEST, 'evictionrequests', 'status')), (text) => {
    const parsed = parseReview(text);
    if ('wrong' in parsed) return;
    JSON.parse(reviewAnswer(parsed.uid, decideTimes(parsed.old, parsed.fresh, NOW)));
  }),
  textTarget('review-maintenance', mutatedJson(review(MAINTENANCE, 'nodemaintenances', '')), (text) => {
    const parsed = parseMaintenanceReview(text);
    if ('wrong' in parsed) return;
    const nodes: (KubeObject & { metadata: { name: string } })[] = [{ metadata: { name: 'n1' } }];
    JSON.parse(warningsAnswer(parsed.uid, maintenanceWarnings(parsed.nodeSelector, nodes)));
  }),
  cloudTarget('aws', awsSources, AWS),
  cloudTarget('gcp', gcpSources, GCP),
  cloudTarget('azure', (metadata) => azureSources(metadata, false), AZURE),
  cloudTarget('alibaba', alibabaSources, mutatedText('2026-07-01T12:00:00Z', '2018-08-18 12:05:33')),
  cloudTarget('tencent', tencentSources, mutatedText('2018-08-18 12:05:33', '2026-07-01T12:00:00Z')),
  {
    name: 'dbus-bodies',
    inputs: BODIES,
    open: () => ({
      run: async (input) => {
        const body = revive(input);
        await bus(Array.isArray(body) ? body : [body]);
      },
    }),
  },
];
