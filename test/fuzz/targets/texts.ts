/** Words and lines: the command line, systemd's and the kernel's texts. */
import path from 'node:path';
import { parseRequest } from '../../../src/agent/control/protocol.ts';
import { formatReport } from '../../../src/cli/report/text.ts';
import { parseNodes, parseTarget } from '../../../src/cli/cluster/cluster.ts';
import { DEFAULT_REQUESTER, parseEvictOptions, parsePodName } from '../../../src/cli/evict/options.ts';
import { parseTimeout } from '../../../src/cli/arguments/parse.ts';
import { attemptsOf } from '../../../src/decide/interceptor/message.ts';
import { goDurationMs, parseKubeletFlags } from '../../../src/decide/machine/kubelet-config.ts';
import { serviceOf } from '../../../src/decide/machine/kubelet-unit.ts';
import { parseTimeSpan, winningDelay } from '../../../src/decide/machine/logind-delay.ts';
import { parseNoticeTime, preciseRfc3339, rfc3339, timeOf } from '../../../src/decide/time.ts';
import { parseStory } from '../../../src/agent/shutdown/story-files.ts';
import { timelineOf } from '../../../src/show/story/timeline.ts';
import { parseScheduledFile } from '../../../src/host/systemd/scheduled-file.ts';
import { cgroupsIn } from '../../../src/host/process-facts.ts';
import { mutatedText } from '../mutate.ts';
import { assertFinite, attempt, type FuzzTarget, textTarget } from '../target.ts';

const NOW = Date.UTC(2026, 6, 1);
const CGROUP = '0::/system.slice/kubelet.service\n12:cpuset:/kubepods/burstable/pod1\n';
const SCHEDULED = 'USEC=1780000000000000\nWARN_WALL=1\nMODE=reboot\nUID=0\nTTY=pts/0\nWALL_MESSAGE=go\\x20on\n';

const STORY = JSON.stringify({
  version: 1,
  node: 'n1',
  maintenance: 'm',
  origin: 'logind',
  reason: 'new disk',
  begunAt: NOW,
  events: [{ at: NOW, what: 'begin', text: '' }],
  pods: [
    { pod: 'a/b', askedAt: NOW, goneAt: NOW + 9_000, waits: [{ from: NOW, kind: 'ending', on: 'x', message: 'y' }] },
  ],
  podsLeftOut: 0,
  waits: [],
  returned: [],
});
const RELEASE = '{"verb":"release","reason":"the database is stopped"}';
const PARK = '{"verb":"park","file":"etcd.yaml"}';

/** The targets that are short texts. */
export const TEXT_TARGETS: readonly FuzzTarget[] = [
  textTarget('cli-names', mutatedText('node/n1', 'nm/drain-n1', 'pod/web-0', 'default'), async (text) => {
    const target = await attempt(() => parseTarget(text));
    if (target !== undefined && !/^[a-z0-9.-]{1,253}$/.test(target.name)) throw new Error(`took ${target.name}`);
    await attempt(() => parseNodes([text, 'n1']));
    await attempt(() => parsePodName(text));
    await attempt(() => parseEvictOptions(['web', text], { requester: DEFAULT_REQUESTER, namespace: text } as never));
  }),
  textTarget('durations', mutatedText('90s', '1h30m', '10min 3s', 'infinity', '1.5h', '0'), async (text) => {
    assertFinite(await attempt(() => parseTimeout(text)), '--timeout');
    const ms = goDurationMs(text);
    if (ms !== undefined && Number.isNaN(ms)) throw new Error('a Go duration is NaN');
    const span = parseTimeSpan(text);
    if (Number.isNaN(span ?? 0)) throw new Error('a time span is NaN');
  }),
  textTarget(
    'times',
    mutatedText('2026-07-01T12:00:00Z', '2026-07-01T12:00:00.123456789+14:00', 'Wed, 01 Jul 2026 12:00:00 GMT'),
    (text) => {
      for (const ms of [timeOf(text), parseNoticeTime(text), parseNoticeTime(text, '+08:00')]) {
        if (ms === undefined) continue;
        for (const again of [rfc3339(ms), preciseRfc3339(ms)]) if (timeOf(again) === undefined) throw new Error(again);
      }
    },
  ),
  textTarget('scheduled-file', mutatedText(SCHEDULED), (text) => {
    assertFinite(parseScheduledFile(text, NOW), 'scheduled');
  }),
  textTarget('logind-conf', mutatedText('[Login]\nInhibitDelayMaxSec=7d\n#x\n'), (text) => {
    assertFinite(winningDelay([{ path: '/etc/systemd/logind.conf', text }]) ?? 0, 'delay');
  }),
  textTarget('kubelet-flags', mutatedText('kubelet\0--config=/a\0--pod-manifest-path\0/b\0--v=2'), (text) => {
    parseKubeletFlags(text.split('\0'));
  }),
  textTarget('cgroups', mutatedText(CGROUP), (text) => {
    cgroupsIn(text);
    serviceOf(text);
  }),
  textTarget('attempts', mutatedText('Attempt 12: Blocked by PodDisruptionBudget a (1 of 2).'), (text) => {
    assertFinite(attemptsOf(text), 'attempts');
  }),
  textTarget('control-request', mutatedText(RELEASE, PARK), (text) => {
    const request = parseRequest(text);
    if (typeof request === 'string') return;
    if ('file' in request && path.basename(request.file) !== request.file) throw new Error(request.file);
    // In characters, as the schema counts.
    if ('reason' in request && Array.from(request.reason).length > 1024) throw new Error('a reason is not bounded');
  }),
  textTarget('story', mutatedText(STORY), (text) => {
    const story = parseStory(text);
    if (story === undefined) return;
    const line = timelineOf(story, NOW);
    assertFinite(line, 'story');
    if (/[[\p{Cc}\p{Cf}]--[\n]]/v.test(formatReport(line, 80))) throw new Error('the report controls a terminal');
  }),
];
