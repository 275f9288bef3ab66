/** A member of the control plane leaves, and comes back, beside two others: three real members of etcd, and our rules over them. */
import assert from 'node:assert/strict';
import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { MemberWatch } from '../../../src/agent/static-pods/member.ts';
import type { StaticPodView } from '../../../src/agent/static-pods/view.ts';
import type { MemberHold } from '../../../src/decide/static-pod/member.ts';
import { podKey } from '../../../src/decide/static-pod/moves.ts';
import { findLocalEtcd, moveLeader, readEtcd } from '../../../src/host/etcd/etcd.ts';
import { type Manifest, parseManifest } from '../../../src/static-pods/manifest/manifest.ts';
import { controlPlaneBinaries } from '../../control-plane/binaries.ts';
import { createAuthority } from '../../control-plane/certificates.ts';
import { freePort } from '../../control-plane/port.ts';
import { type Program, startProgram } from '../../control-plane/process.ts';
import { SILENT_LOG } from '../../support/silent-log.ts';
import { waitFor } from '../../support/wait-for.ts';

const NAMES = ['a', 'b', 'c'] as const;
type Name = (typeof NAMES)[number];
const PHASE = { kind: 'watching' } as const;

interface Member {
  readonly manifest: Manifest;
  readonly command: readonly [string, ...string[]];
  program: Program;
}

function manifestOf(name: string, command: readonly string[]): Manifest {
  const spec = { containers: [{ name, image: `registry.k8s.io/${name}:1`, command }] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'kube-system' }, spec };
  const parsed = parseManifest({ name: `${name}.yaml`, bytes: Buffer.from(JSON.stringify(pod)) }, 'node');
  assert.ok(parsed.kind === 'pod');
  return parsed;
}

const API_SERVER = manifestOf('kube-apiserver', ['kube-apiserver']);

describe('a member of etcd that leaves', () => {
  const { signal } = new AbortController();
  const folder = path.join(tmpdir(), `nodemaint-etcd-${process.pid}`);
  const members = new Map<Name, Member>();
  let now = 0;

  const memberOf = (name: Name): Member => members.get(name) ?? assert.fail(name);

  before(async () => {
    const { etcd } = await controlPlaneBinaries(signal);
    await mkdir(folder, { recursive: true });
    const authority = await createAuthority(folder);
    const server = await authority.server('server', ['IP:127.0.0.1', 'DNS:localhost']);
    await authority.client('healthcheck-client', 'kube-etcd-healthcheck-client', []);
    const ports = new Map<Name, readonly [number, number]>();
    for (const name of NAMES) ports.set(name, [await freePort(), await freePort()]);
    const peers = [...ports].map(([name, [, peer]]) => `${name}=https://127.0.0.1:${peer}`).join(',');
    for (const [name, [client, peer]] of ports) {
      const flags = [
        `--name=${name}`,
        `--data-dir=${path.join(folder, name)}`,
        `--listen-client-urls=https://127.0.0.1:${client}`,
        `--advertise-client-urls=https://127.0.0.1:${client}`,
        `--listen-peer-urls=https://127.0.0.1:${peer}`,
        `--initial-advertise-peer-urls=https://127.0.0.1:${peer}`,
        `--initial-cluster=${peers}`,
        ...['', 'peer-'].flatMap((prefix) => [
          `--${prefix}cert-file=${server.cert}`,
          `--${prefix}key-file=${server.key}`,
          `--${prefix}trusted-ca-file=${authority.ca.cert}`,
          `--${prefix}client-cert-auth=true`,
        ]),
        '--unsafe-no-fsync',
      ];
      const command = [etcd, ...flags] as const;
      const program = startProgram(command, path.join(folder, `${name}.log`));
      members.set(name, { manifest: manifestOf('etcd', ['etcd', ...flags]), command, program });
    }
    await waitFor('a member leads', async () => (await leader()) !== undefined, { signal });
  });
  after(async () => {
    for (const { program } of members.values()) await program[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  async function here(name: Name): Promise<Extract<Awaited<ReturnType<typeof findLocalEtcd>>, { kind: 'here' }>> {
    const found = await findLocalEtcd(memberOf(name).manifest.program ?? assert.fail());
    assert.ok(found.kind === 'here');
    return found;
  }

  /** The member that leads, as the others say; undefined where they do not agree. */
  async function leader(of: readonly Name[] = NAMES): Promise<Name | undefined> {
    const { members: seen } = await readEtcd(await here(of[0] ?? 'a'), signal);
    const said = seen.flatMap(({ status }) => (typeof status === 'string' ? [] : [status.leader]));
    const found = seen.find(({ id }) => said.length >= of.length && said.every((each) => each === id));
    return NAMES.find((name) => name === found?.name);
  }

  const member = (): MemberWatch =>
    new MemberWatch({ clock: { now: () => now, monotonic: () => now }, log: SILENT_LOG });

  async function lookLeaving(of: MemberWatch, name: Name): Promise<ReadonlyMap<string, MemberHold>> {
    const inPlace = [memberOf(name).manifest, API_SERVER];
    const view: StaticPodView = { inPlace, ended: [], parked: [], live: undefined };
    const leave = new Map(inPlace.map((pod) => [podKey(pod), { maintenance: 'm', reason: 'test' }]));
    return await of.look(view, { leave, targeted: new Set(leave.keys()), keepParked: () => true }, PHASE, signal);
  }

  async function untilAgreed(): Promise<Name> {
    await waitFor('a member leads', async () => (await leader()) !== undefined, { signal });
    return (await leader()) ?? assert.fail();
  }

  const waitsOf = (holds: ReadonlyMap<string, MemberHold>): readonly string[] => [
    ...new Set([...holds.values()].map(({ wait }) => wait)),
  ];

  it('the leader hands the lead over before any manifest moves, and then nothing holds it', async () => {
    const leads = await untilAgreed();
    const leaving = member();
    const first = await lookLeaving(leaving, leads);
    assert.deepEqual([...first.keys()], ['etcd.yaml', 'kube-apiserver.yaml']);
    assert.deepEqual(waitsOf(first), ['etcd-leader']);
    const begun = performance.now();
    await waitFor('nothing holds it', async () => (await lookLeaving(leaving, leads)).size === 0, { signal });
    console.log(`the lead was handed over within ${(performance.now() - begun).toFixed(0)} ms`);
    assert.notEqual(await untilAgreed(), leads);
  });

  it('a leader refuses a member that it does not have', async () => {
    const leads = await untilAgreed();
    await assert.rejects(
      moveLeader(await here(leads), '42', signal),
      /etcdserver: (?:bad leader transferee|member not found)/,
    );
    assert.equal(await untilAgreed(), leads);
  });

  it('a member waits while another one is away, at most for a minute, and goes on once it is back in step', async () => {
    const leads = await untilAgreed();
    const [leaves = 'a', away = 'b'] = NAMES.filter((name) => name !== leads);
    await memberOf(away).program.stop();
    const leaving = member();
    const held = await lookLeaving(leaving, leaves);
    assert.deepEqual(waitsOf(held), ['etcd-members']);
    assert.match(held.get('etcd.yaml')?.message ?? '', new RegExp(`not in step \\(${away}: no answer of`));
    now += 59_000;
    assert.deepEqual(waitsOf(await lookLeaving(leaving, leaves)), ['etcd-members']);
    now += 1_000;
    assert.equal((await lookLeaving(leaving, leaves)).size, 0, 'it goes on after its time');

    const { command, manifest } = memberOf(away);
    const returning = member();
    const parked = { ...API_SERVER, maintenance: 'm', parkedAt: 0, thisBoot: false };
    const view: StaticPodView = { inPlace: [manifest], ended: [], parked: [parked], live: undefined };
    const lookReturning = (): Promise<ReadonlyMap<string, MemberHold>> =>
      returning.look(view, { leave: new Map(), targeted: new Set(), keepParked: () => false }, PHASE, signal);
    assert.deepEqual([...(await lookReturning()).keys()], ['kube-apiserver.yaml']);
    assert.deepEqual(waitsOf(await lookReturning()), ['etcd-start']);
    memberOf(away).program = startProgram(command, path.join(folder, `${away}.log`));
    const begun = performance.now();
    await waitFor('the API server may come back', async () => (await lookReturning()).size === 0, { signal });
    console.log(`etcd was in step ${(performance.now() - begun).toFixed(0)} ms after its start`);
    await waitFor('the other may leave', async () => (await lookLeaving(member(), leaves)).size === 0, { signal });
  });

  it('without a certificate nothing is waited for', async () => {
    const leads = await untilAgreed();
    for (const name of ['healthcheck-client.crt', 'server.crt']) await rm(path.join(folder, name));
    assert.equal((await lookLeaving(member(), leads)).size, 0);
  });
});
