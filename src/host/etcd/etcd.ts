/**
 * The calls of etcd's gRPC that the agent makes: who the members are, what each says of itself, and that another one is to lead. The
 * manifest of etcd says where it listens and where its certificates lie. Field numbers are those of etcd 3.7's rpc.proto, and never
 * change.
 */
import { open } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import type { ControlPlaneProgram } from '../../decide/static-pod/control-plane-pod.ts';
import type { EtcdMember, EtcdView } from '../../decide/static-pod/control-plane-waits.ts';
import { describeError, errorCodeOf } from '../../errors.ts';
import { printable, shortened } from '../../printable.ts';
import { callService, type RemoteService } from '../cri/connection.ts';
import { field, message, method, repeated } from '../protobuf.ts';

/** This node's etcd, and how it is asked. */
interface EtcdAccess {
  readonly kind: 'here';
  readonly endpoint: string;
  readonly tls: RemoteService['tls'];
}

/** This node's etcd, or why it cannot be asked. */
type LocalEtcd = EtcdAccess | { readonly kind: 'none'; readonly reason: string };

/** A member that takes longer is not at work. */
const CALL_MS = 1_500;
const MAX_MEMBERS = 32;
const MAX_PEM_BYTES = 128 * 1024;
const MAX_TEXT = 200;

/** RemoteService of cluster and maintenance; a message of both has the names of etcd. */
const PACKAGE = {
  Cluster: { methods: { MemberList: method('MemberList') } },
  Maintenance: { methods: { Status: method('Status'), MoveLeader: method('MoveLeader') } },
  ResponseHeader: message({ memberId: field('uint64', 2) }),
  MemberListRequest: message({ linearizable: field('bool', 1) }),
  MemberListResponse: message({ header: field('ResponseHeader', 1), members: repeated('Member', 2) }),
  Member: message({
    ID: field('uint64', 1),
    name: field('string', 2),
    clientURLs: repeated('string', 4),
    isLearner: field('bool', 5),
  }),
  StatusRequest: message({}),
  StatusResponse: message({
    leader: field('uint64', 4),
    raftIndex: field('uint64', 5),
    raftAppliedIndex: field('uint64', 7),
    errors: repeated('string', 8),
  }),
  MoveLeaderRequest: message({ targetID: field('uint64', 1) }),
  MoveLeaderResponse: message({}),
};

const ID = z.string().regex(/^\d{1,20}$/);
const TEXT = z.string().transform((text) => shortened(printable(text), MAX_TEXT));
const MEMBERS = z.object({
  header: z.object({ memberId: ID }),
  members: z
    .array(z.object({ ID, name: TEXT, clientURLs: z.array(z.string()), isLearner: z.boolean() }))
    .max(MAX_MEMBERS),
});
const STATUS = z
  .object({ leader: ID, raftIndex: ID, raftAppliedIndex: ID, errors: z.array(TEXT).max(MAX_MEMBERS) })
  .transform(({ leader, raftIndex, raftAppliedIndex, errors }) => ({
    leader,
    raftIndex: Number(raftIndex),
    appliedIndex: Number(raftAppliedIndex),
    errors,
  }));

/** Reads a file of certificates or keys; undefined where there is none. */
async function readPem(file: string): Promise<Buffer | undefined> {
  try {
    await using handle = await open(file);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_PEM_BYTES), 0, MAX_PEM_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Finds this node's etcd by the flags of its manifest; its client certificate is kubeadm's for health checks, else its own one. */
export async function findLocalEtcd({ flags }: ControlPlaneProgram): Promise<LocalEtcd> {
  const urls = (flags['listen-client-urls'] ?? '').split(',').filter((url) => URL.canParse(url));
  const endpoint = urls.find((url) => ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname)) ?? urls[0];
  if (endpoint === undefined) return { kind: 'none', reason: 'its manifest does not say where it listens' };
  if (!endpoint.startsWith('https:')) return { kind: 'here', endpoint, tls: undefined };
  const { 'cert-file': cert = '', 'key-file': key = '', 'trusted-ca-file': trusted = '' } = flags;
  const health = path.join(path.dirname(cert), 'healthcheck-client');
  try {
    const ca = await readPem(trusted);
    for (const [certFile, keyFile] of [[`${health}.crt`, `${health}.key`] as const, [cert, key] as const]) {
      const pair = { cert: await readPem(certFile), key: await readPem(keyFile) };
      if (ca !== undefined && pair.cert !== undefined && pair.key !== undefined)
        return { kind: 'here', endpoint, tls: { ca, cert: pair.cert, key: pair.key } };
    }
    return { kind: 'none', reason: `there is no client certificate of etcd in ${path.dirname(cert)}` };
  } catch (error) {
    return { kind: 'none', reason: describeError(error) };
  }
}

type Method = 'MemberList' | 'Status' | 'MoveLeader';

async function ask(
  { tls }: EtcdAccess,
  endpoint: string,
  [name, request]: readonly [Method, object],
  signal: AbortSignal,
): Promise<object> {
  const service: RemoteService = {
    describe: () => ({ nested: { etcdserverpb: { nested: PACKAGE } } }),
    name: `etcdserverpb.${name === 'MemberList' ? 'Cluster' : 'Maintenance'}`,
    longs: String,
    ...(tls === undefined ? {} : { tls }),
  };
  return await callService(new URL(endpoint).host, service, { method: name, request, timeoutMs: CALL_MS }, signal);
}

/** What the member at one of these addresses says of itself, or why it does not. */
async function statusOf(etcd: EtcdAccess, urls: readonly string[], signal: AbortSignal): Promise<EtcdMember['status']> {
  const url = urls.find((each) => URL.canParse(each));
  if (url === undefined) return 'not started';
  try {
    return STATUS.parse(await ask(etcd, url, ['Status', {}], signal));
  } catch (error) {
    signal.throwIfAborted();
    return `no answer of ${shortened(printable(url), MAX_TEXT)} (${shortened(printable(describeError(error)), MAX_TEXT)})`;
  }
}

/** Asks this node's etcd for its members, and each of them what it says. Throws where its own does not answer within 1.5 s. */
export async function readEtcd(etcd: EtcdAccess, signal: AbortSignal): Promise<EtcdView> {
  const { header, members } = MEMBERS.parse(await ask(etcd, etcd.endpoint, ['MemberList', {}], signal));
  const self = header.memberId;
  const seen = members.map(async ({ ID: id, name, clientURLs, isLearner }): Promise<EtcdMember> => {
    const status = await statusOf(etcd, id === self ? [etcd.endpoint] : clientURLs, signal);
    return { id, name, isLearner, status };
  });
  return { self, members: await Promise.all(seen) };
}

/** Makes another member lead; only the leader itself can, so its own etcd is asked. Throws where it refuses. */
export async function moveLeader(etcd: EtcdAccess, targetID: string, signal: AbortSignal): Promise<void> {
  await ask(etcd, etcd.endpoint, ['MoveLeader', { targetID }], signal);
}
