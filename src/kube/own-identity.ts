/** Who we are, as the API server knows us. */
import { X509Certificate } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import * as z from 'zod';
import { NodemaintError } from '../errors.ts';
import type { KubeClient } from './client.ts';
import { sendForObject } from './request.ts';
import type { ClusterAccess } from './access/cluster.ts';

const REVIEW = z.object({ status: z.object({ userInfo: z.object({ username: z.string().min(1).max(1024) }) }) });

/** The NAME of a user system:node:NAME; undefined for every other user. */
export function nodeNameIn(user: string): string | undefined {
  return /^system:node:(.+)$/.exec(user)?.[1];
}

/** The name of the user. Throws API_UNREACHABLE, and API_REFUSED also where the API server does not say it. */
export async function ownName(client: KubeClient, signal: AbortSignal): Promise<string> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const review = REVIEW.safeParse(await sendForObject(client, { method: 'POST', path, body }, [], signal));
  if (review.success) return review.data.status.userInfo.username;
  throw new NodemaintError('API_REFUSED', 'the API server does not say who you are (SelfSubjectReview)');
}

/** The NAME of an identity system:node:NAME in the client certificate; undefined for every other identity, and without one. */
export async function certifiedNodeName(access: ClusterAccess): Promise<string | undefined> {
  const options: RequestOptions = {};
  try {
    await access.authenticate(options);
    const { subject } = new X509Certificate(options.cert as Buffer);
    return nodeNameIn(/^CN=(.+)$/m.exec(subject)?.[1] ?? '');
  } catch {
    return undefined;
  }
}
