import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { examineNode, type DoctorFacts } from '../../../../src/show/checks/node-checks.ts';
import { WEEK_MS, WELL } from '../../../support/views/checks.ts';
import { effectiveKubelet } from '../../../../src/decide/machine/kubelet-config.ts';

const LOCK = { what: 'shutdown', mode: 'delay', pid: 7, why: 'busy' };
const SELF = {
  id: '1',
  name: 'node',
  isLearner: false,
  status: { leader: '1', raftIndex: 9, appliedIndex: 9, errors: [] },
};

const ETCD = { name: 'etcd', flags: { 'listen-client-urls': 'https://127.0.0.1:2379' } } as const;

const cases: [string, Partial<DoctorFacts>, RegExp][] = [
  ['no agent answers', { lock: 'no agent answers at /run' }, /^fail lock: .*no agent answers/],
  [
    'another file wins',
    { delay: { effectiveMs: 30_000, winner: { path: '/usr/lib/systemd/logind.conf.d/uu.conf', value: '30' } } },
    /^fail lock delay: .*uu\.conf \(InhibitDelayMaxSec=30\) wins over/,
  ],
  [
    'a session refuses reboots',
    {
      otherLocks: [
        { ...LOCK, who: 'backup', uid: 0 },
        { ...LOCK, who: 'session', uid: 1000, mode: 'block-weak' },
      ],
    },
    /^warn other locks: logind refuses to reboot or power off because of session \(uid 1000, process 7: busy\)$/,
  ],
  [
    'somebody else has a lock',
    { otherLocks: [{ ...LOCK, who: 'backup', uid: 1000 }] },
    /^warn other locks: .*other locks delay a shutdown too, up to the lock delay: backup \(uid 1000, process 7: busy\)$/,
  ],
  [
    'the static pod directory is read-only to the unit',
    { unitPaths: { protectSystem: 'strict', writable: ['-/etc/kubernetes'], needed: ['/etc/kubernetes-b', '/opt/a'] } },
    /^fail unit paths: .*cannot write \/etc\/kubernetes-b, \/opt\/a$/,
  ],
  [
    'the kubelet has static pods from a URL',
    { kubelet: effectiveKubelet(7, new Map(), { staticPodURL: 'https://user:secret@example.com/pods' }) },
    /^warn static pods: the kubelet \(process 7\) takes static pods from a URL \(staticPodURL\): [^@]*$/,
  ],
  [
    'others could change the kubeconfig',
    { distrusted: ['/srv/kubeconfig is not trusted: its group may write to it'] },
    /^warn trust: .*\/srv\/kubeconfig is not trusted/,
  ],
  ['logind is away', { delay: 'no answer' }, /^fail lock delay: .*no answer/],
  [
    'a target forces the shutdown',
    { targetTimeoutsMs: { poweroff: WEEK_MS, reboot: 1_800_000 } },
    /^fail target time-outs: .*reboot\.target after 1800 s$/,
  ],
  [
    "systemd stops pods' slices before the drain",
    { startsAfter: ['kubelet.service', 'containerd.service', 'dbus.service', 'systemd-logind.service'] },
    /^fail unit order: .*not ordered after kubepods\.slice/,
  ],
  ['units stop too early', { startsAfter: ['dbus.service'] }, /^fail unit order: .*kubelet\.service, .* runtime/],
  [
    'a process that is no kubelet says that it is',
    { kubelet: undefined, refusedKubelets: [{ pid: 66, uid: 7, reason: 'its user ids are 7, 7, 7, 7' }] },
    /^warn kubelet shutdown: .*no kubelet of this node is running; not trusted: process 66: its user ids are 7/,
  ],
  [
    'others may write to the static pod directory',
    { staticPods: { path: '/srv/pods', isThere: true, distrust: '/srv is not trusted: chmod go-w /srv' } },
    /^fail static pods: .*manifests are not moved: \/srv is not trusted/,
  ],
  [
    'the kubelet kills pods itself',
    { kubelet: effectiveKubelet(1, new Map(), { shutdownGracePeriod: '30s' }) },
    /^fail kubelet shutdown: .*is on \(30 s\)/,
  ],
  [
    'the kubelet runs in a unit that may stop too early',
    { kubeletHome: { unit: 'snap.kubelet.daemon.service', runtime: undefined } },
    /^fail unit order: .*not ordered after snap\.kubelet\.daemon\.service/,
  ],
  [
    'kubelet and runtime are one unit',
    { kubeletHome: { unit: 'kubelet.service', runtime: 'containerd' } },
    /^warn kubelet unit: .*together: a drain without an API server ends only static pods/,
  ],
  [
    'another unit is configured',
    { kubeletUnit: 'hyperkube.service' },
    /^warn kubelet unit: .*stops hyperkube\.service, but the kubelet runs in kubelet\.service/,
  ],
  ['no kubelet runs', { kubelet: undefined }, /^warn kubelet shutdown: .*no kubelet/],
  ['a kubelet file is broken', { kubelet: 'cannot use x' }, /^warn kubelet shutdown: .*cannot use x/],
  [
    'the kubelet has another directory',
    { staticPods: { path: '/a', isThere: true, warning: 'the kubelet has /b' } },
    /^fail static pods: .*has \/b/,
  ],
  ['the directory is not there', { staticPods: { path: '/a', isThere: false } }, /^warn static pods: .*does not exist/],
  [
    'the disk is full',
    { storage: { directory: '/var/lib/nodemaint', problem: 'cannot write record.json: ENOSPC' } },
    /^fail state directory: .*ENOSPC: the agent still holds a shutdown, but loses its state if it restarts/,
  ],
  ['the runtime does not answer', { runtime: 'nothing listens' }, /^fail runtime: .*nothing listens/],
  [
    'the API server does not answer',
    { api: { kind: 'failed', server: '', message: 'no answer' } },
    /^fail API server: .*no answer/,
  ],
  [
    'there is no certificate for its etcd',
    { member: { programs: [ETCD], etcd: 'there is no client certificate' } },
    /^warn control plane: a reboot does not hand the lead of etcd over: there is no client certificate/,
  ],
  [
    'the API server does not know a static pod',
    { api: { kind: 'ok', server: 'https://x', message: '', unknown: ['kube-system/etcd-n'] } },
    /^warn static pods: not known to the API server, .*: kube-system\/etcd-n/,
  ],
  [
    'the kubeconfig points at a proxy of this node that is not known',
    { serverIsLocal: true },
    /^warn own API server: .*this node \(https:\/\/10\.0\.0\.1:6443\), and no static pod is known/,
  ],
];

it('the check of the own API server names what stays in a drain', () => {
  const checks = examineNode({ ...WELL, serverIsLocal: true, carriers: ['kube-apiserver.yaml'] });
  const { result, message } = checks.find(({ name }) => name === 'own API server') ?? assert.fail();
  assert.match(`${result} ${message}`, /^ok .*10\.0\.0\.1:6443\).* stay in a drain.*: kube-apiserver\.yaml/);
});

describe('the check of a member of the control plane', () => {
  const saidOf = (member: DoctorFacts['member']): string =>
    examineNode({ ...WELL, member }).find(({ name }) => name === 'control plane')?.message ?? '';
  const [etcd, server] = [ETCD, { name: 'kube-apiserver', flags: {} } as const];
  const three = { self: '1', members: ['1', '2', '3'].map((id) => ({ ...SELF, id })) };

  it('says where nothing can be handed over, and where a balancer may be too late', () => {
    assert.match(saidOf({ programs: [], etcd: undefined }), /^no part of it is a static pod/);
    assert.match(
      saidOf({ programs: [server], etcd: undefined }),
      /^its etcd is not a static pod .*for 0 s after its SIGTERM/,
    );
    assert.match(saidOf({ programs: [etcd], etcd: { ...three, members: [SELF] } }), /^this is the only member of etcd/);
    assert.match(saidOf({ programs: [{ ...etcd, flags: {} }], etcd: 'no' }), /^its etcd has its settings in a file/);
    const delayed = { ...server, flags: { 'shutdown-delay-duration': '10s' } };
    assert.equal(
      saidOf({ programs: [etcd, delayed], etcd: three }),
      'before a reboot another member leads etcd, and the API server leaves before etcd',
    );
  });
});

describe('the examination of a node', () => {
  it('the examination finds nothing on a node that is set up well', () => {
    const found = examineNode(WELL).filter(({ result, fix }) => result !== 'ok' || fix !== '');
    assert.deepEqual(found, []);
  });

  it('the examination accepts a standalone node', () => {
    const facts: DoctorFacts = { ...WELL, api: { kind: 'standalone' }, serverIsLocal: true };
    assert.ok(examineNode(facts).every(({ result }) => result === 'ok'));
  });

  it('a bus that cannot be reached is one finding with one fix, and the other checks refer to it', () => {
    const bus = 'no connection to the bus unix:path=/run/dbus/system_bus_socket: connect ENOENT';
    const of = (what: string): string => `cannot call ${what}: ${bus}`;
    const checks = examineNode({
      ...WELL,
      isBusAway: true,
      delay: of('Get of org.freedesktop.login1'),
      otherLocks: of('ListInhibitors of org.freedesktop.login1'),
      targetTimeoutsMs: of('LoadUnit of org.freedesktop.systemd1'),
      startsAfter: of('LoadUnit of org.freedesktop.systemd1'),
    });
    assert.equal(checks.filter(({ message }) => message.includes('ENOENT')).length, 1);
    const found = checks.filter(({ result }) => result !== 'ok').map(({ name, result, fix }) => [name, result, fix]);
    assert.deepEqual(found, [
      ['lock delay', 'fail', 'systemctl status dbus systemd-logind; without them no shutdown can be held'],
      ['target time-outs', 'fail', ''],
      ['unit order', 'fail', ''],
      ['other locks', 'warn', ''],
    ]);
    for (const name of ['target time-outs', 'unit order', 'other locks'])
      assert.equal(checks.find((each) => each.name === name)?.message, 'not known, see "lock delay"');
  });

  it('nobody is told to stop the kubelet for its lock, and to correct a key that is not the cause', () => {
    const findings = examineNode({
      ...WELL,
      otherLocks: [{ ...LOCK, who: 'kubelet', uid: 0 }],
      kubeletHome: { unit: undefined, runtime: undefined },
    }).filter(({ result }) => result !== 'ok');
    const text = findings.map(({ message, fix }) => `${message}: ${fix}`).join('\n');
    assert.match(text, /kubelet \(.*: nodemaint disable-kubelet-shutdown: /);
    assert.match(text, /runs outside of any systemd service .*: run the kubelet in a systemd service; /);
  });

  it('a path that several keys have is named once', () => {
    const checks = examineNode({ ...WELL, distrusted: ['/srv is not trusted', '/srv is not trusted'] });
    assert.equal(checks.find(({ name }) => name === 'trust')?.message, '/srv is not trusted');
  });

  it('a state directory that does not exist is made, not freed', () => {
    const storage = { directory: '/var/lib/nodemaint', problem: 'it is away', isMissing: true };
    const { fix } = examineNode({ ...WELL, storage }).find(({ name }) => name === 'state directory') ?? { fix: '' };
    assert.match(fix, /^systemctl start nodemaint, whose unit makes \/var\/lib\/nodemaint/);
  });

  for (const [name, facts, expected] of cases) {
    it(`the examination finds that ${name}, and says what to do`, () => {
      const [found, ...more] = examineNode({ ...WELL, ...facts }).filter(({ result }) => result !== 'ok');
      assert.match(`${found?.result} ${found?.name}: ${found?.message}`, expected);
      assert.notEqual(found?.fix, '');
      assert.deepEqual(more, []);
    });
  }
});
