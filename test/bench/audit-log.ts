import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** A call in the API server's audit log. */
export interface AuditedCall {
  readonly user: string;
  readonly verb: string;
  /** The resource with its subresource, such as evictionrequests/status. */
  readonly resource: string;
  /** The name of the object; empty where the call has none. */
  readonly name: string;
  /** Whether it was a server-side apply, which the log calls a patch. */
  readonly applied: boolean;
  readonly code: number;
  /** Milliseconds since the epoch at which it came. */
  readonly at: number;
}

/** The log of what some users ask of the API server. */
export interface AuditLog {
  /** Flags of kube-apiserver that make it write the log. */
  readonly flags: readonly string[];
  /** The calls since a time in milliseconds since the epoch. */
  callsSince(at: number): Promise<readonly AuditedCall[]>;
}

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly requestURI: string;
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
}

function callOf(line: string): AuditedCall {
  const { user, verb, requestURI, requestReceivedTimestamp, objectRef, responseStatus } = JSON.parse(
    line,
  ) as AuditEvent;
  const subresource = objectRef?.subresource === undefined ? '' : `/${objectRef.subresource}`;
  return {
    user: user.username,
    verb,
    resource: `${objectRef?.resource ?? requestURI}${subresource}`,
    name: objectRef?.name ?? '',
    applied: requestURI.includes('fieldManager='),
    code: responseStatus?.code ?? 0,
    at: Date.parse(requestReceivedTimestamp),
  };
}

/** Makes a log in `folder` of everything that the users ask for and nothing else. */
export async function createAuditLog(folder: string, users: readonly string[]): Promise<AuditLog> {
  const policy = path.join(folder, 'audit-policy.json');
  const log = path.join(folder, 'audit.log');
  const rules = [{ level: 'Metadata', users }, { level: 'None' }];
  const header = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy' };
  await writeFile(policy, JSON.stringify({ ...header, omitStages: ['RequestReceived', 'ResponseStarted'], rules }));
  await writeFile(log, '');
  return {
    flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, '--audit-log-maxsize=1000'],
    callsSince: async (at) => {
      const lines = (await readFile(log, 'utf8')).split('\n');
      return lines.flatMap((line) => {
        const call = line === '' ? undefined : callOf(line);
        return call === undefined || call.at < at ? [] : [call];
      });
    },
  };
}
