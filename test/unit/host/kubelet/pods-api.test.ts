import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { describe, it } from 'node:test';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import { drainPodOf } from '../../../../src/decide/pod.ts';
import { listKubeletPods, PODS_API_SOCKET } from '../../../../src/host/kubelet/pods-api.ts';
import { temporaryFolder } from '../../../support/folder.ts';

const SIGNAL = AbortSignal.timeout(30_000);
/** What the kubelet's own types of Kubernetes 1.37.1 write for three pods: of a driver's DaemonSet, of a person, and static. */
const ANSWER = Buffer.from(
  'CooCClQKBWNzaS14EgAaC2t1YmUtc3lzdGVtIgAqBXUtY3NpMgA4AEIAWgoKA2FwcBIDY3NpaiEKCURhZW1vblNldBoDY3NpIgR1LWRzKgdhcHBzL3YxMAESlQEKLAoDcmVnEiUKIwohL3Zhci9saWIva3ViZWxldC9wbHVnaW5zX3JlZ2lzdHJ5CgsKA3RtcBIEEgIKABIdCgRtYWluEgF4KgBCAGoAcgCAAQCIAQCQAQCiAQAaACCQHDIAQgBKAFIBblgAYABoAIIBAIoBAJoBAMIBFHN5c3RlbS1ub2RlLWNyaXRpY2FsyAHor9a5BxoaCgdSdW5uaW5nGgAiACoAMgBKAFoAcgCIAQAKYAofCgN3ZWISABoHZGVmYXVsdCIAKgV1LXdlYjIAOABCABIoGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBAMgB+///////////ARoTCgAaACIAKgAyAEoAWgByAIgBAAqnAQpyCgZldGNkLW4SABoLa3ViZS1zeXN0ZW0iACoIdS1zdGF0aWMyADgAQgBiIgoba3ViZXJuZXRlcy5pby9jb25maWcubWlycm9yEgNhYmNiIwoba3ViZXJuZXRlcy5pby9jb25maWcuc291cmNlEgRmaWxlEhwaADIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAGhMKABoAIgAqADIASgBaAHIAiAEA',
  'base64',
);

type Handler = (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => void;

/** A kubelet below `root` that answers ListPods so. */
async function serve(root: string, ListPods: Handler): Promise<AsyncDisposable> {
  await mkdir(path.join(root, path.dirname(PODS_API_SOCKET)), { recursive: true });
  const plain = (bytes: Buffer): Buffer => bytes;
  const method = {
    path: '/v1alpha1.Pods/ListPods',
    requestStream: false,
    responseStream: false,
    requestSerialize: plain,
    requestDeserialize: plain,
    responseSerialize: plain,
    responseDeserialize: plain,
  };
  const server = new Server();
  server.addService({ ListPods: method }, { ListPods });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${path.join(root, PODS_API_SOCKET)}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
  return {
    [Symbol.asyncDispose]: () => {
      server.forceShutdown();
      return Promise.resolve();
    },
  };
}

describe('the Pods API of the kubelet', () => {
  it('the pods have the priorities, owners and volumes that the kubelet knows, without static pods', async (t) => {
    const root = await temporaryFolder(t, 'pods-api');
    const trust = { top: root, owners: [process.geteuid?.() ?? 0] };
    await using _ = await serve(root, (_call, reply) => reply(null, ANSWER));
    const pods = (await listKubeletPods(root, SIGNAL, trust)) ?? [];
    assert.deepEqual(
      pods.map((pod) => {
        const { uid, podType, priority } = drainPodOf(pod);
        return [uid, podType, priority, pod.spec.priority];
      }),
      [
        // A driver leaves last of the DaemonSet pods, whatever its priority is.
        ['u-csi', 'DaemonSet', 2_147_483_647, 2_000_001_000],
        ['u-web', 'Default', -5, -5],
      ],
    );
    assert.equal(pods[0]?.spec.terminationGracePeriodSeconds, 3600);
  });

  it('a kubelet that does not know all of its pods yet is an error, one without the API is none', async (t) => {
    const root = await temporaryFolder(t, 'pods-api');
    const trust = { top: root, owners: [process.geteuid?.() ?? 0] };
    assert.equal(await listKubeletPods(root, SIGNAL, trust), undefined);
    await using _ = await serve(root, (_call, reply) => {
      reply({ code: status.FAILED_PRECONDITION, details: 'Kubelet is initializing' });
    });
    await assert.rejects(listKubeletPods(root, SIGNAL, trust), /Kubelet is initializing/);
  });

  it('a socket that others can replace is not asked', async (t) => {
    const root = await temporaryFolder(t, 'pods-api');
    await using _ = await serve(root, (_call, reply) => reply(null, ANSWER));
    await assert.rejects(listKubeletPods(root, SIGNAL, { top: root, owners: [4_711] }), /is not trusted/);
  });
});
