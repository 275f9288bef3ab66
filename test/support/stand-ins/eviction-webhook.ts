import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createAuthority } from '../../control-plane/certificates.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';

/** What the webhook says to the eviction of a pod; `undefined` lets it pass, `silence` is no answer at all. */
export type Verdict = { readonly code: number; readonly message: string } | 'silence' | undefined;

/** A webhook on pods/eviction, as those who evict in the background have one (KEP-1397), or on something else. */
export interface EvictionWebhook extends AsyncDisposable {
  /** The pods whose eviction was asked for, or what else it was asked about, in order. */
  readonly asked: readonly string[];
  /** Answers nothing from now on, and stays registered, as one whose own pods have left. */
  leave(): void;
  /** Decides; nothing lets pass. */
  decide: (pod: string) => Verdict;
}

interface Review {
  readonly request: { readonly uid: string; readonly name: string };
}

const EVICTIONS = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods/eviction'] };

/** Serves the webhook and registers it with the API server, with the policy that a call which fails is a refusal. */
export async function startEvictionWebhook(
  controlPlane: ControlPlane,
  folder: string,
  rule: object = EVICTIONS,
): Promise<EvictionWebhook> {
  const authority = await createAuthority(folder);
  const pair = await authority.server('webhook', ['IP:127.0.0.1']);
  const asked: string[] = [];
  const webhook = { asked, decide: (_pod: string): Verdict => undefined };
  const server = createServer(
    { cert: await readFile(pair.cert), key: await readFile(pair.key) },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { request: review } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Review;
        asked.push(review.name);
        const verdict = webhook.decide(review.name);
        if (verdict === 'silence') return;
        const answer = { uid: review.uid, allowed: verdict === undefined, ...(verdict && { status: verdict }) };
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer }));
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const caBundle = (await readFile(authority.ca.cert)).toString('base64');
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'background-eviction' },
    webhooks: [
      {
        name: 'virt-launcher-eviction-interceptor.kubevirt.io',
        rules: [rule],
        clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
      },
    ],
  };
  await controlPlane.kubectl(['apply', '-f', '-'], JSON.stringify(configuration));
  return Object.assign(webhook, {
    leave: () => {
      server.close();
      server.closeAllConnections();
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await controlPlane.kubectl(['delete', 'validatingwebhookconfiguration', 'background-eviction']);
      server.close();
      server.closeAllConnections();
    },
  });
}
