/** Answers of the model: an object, or a metav1.Status that says why not. */
import type { KubeResponse } from '../../../src/kube/client.ts';

/** An answer before the API server says the time in its headers. */
export type Answer = Pick<KubeResponse, 'status' | 'body'> & { readonly headers?: KubeResponse['headers'] };

export function found(body: unknown, status = 200): Answer {
  return { status, body };
}

/** A refusal in the words of metav1.Status. */
export function refused(code: number, reason: string, message: string, details: object = {}): Answer {
  const body = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message, details };
  return { status: code, body };
}

export function notFound(what: string): Answer {
  return refused(404, 'NotFound', `${what} not found`);
}

export function conflict(why: string): Answer {
  return refused(409, 'Conflict', why);
}

export const SUCCESS = { kind: 'Status', apiVersion: 'v1', status: 'Success' };
