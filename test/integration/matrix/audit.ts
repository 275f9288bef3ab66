/** The audit log of an API server, as far as it tells of the calls to the Eviction API. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

const CONTROLLER = 'system:serviceaccount:nodemaint-system:nodemaint-controller';

const POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'Metadata', users: [CONTROLLER], resources: [{ group: '', resources: ['pods/eviction'] }] },
    { level: 'None' },
  ],
};

/** A call of the controller to the Eviction API, no trial. */
export interface EvictionCall {
  /** NAMESPACE/NAME. */
  readonly pod: string;
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
  /** The answer's status and message. */
  readonly code: number;
  readonly message: string;
}

interface AuditEvent {
  readonly requestURI: string;
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: { readonly namespace?: string; readonly name?: string };
  readonly responseStatus?: { readonly code: number; readonly message?: string };
}

/** Creates an audit log in a folder, which an API server writes with these flags. */
export async function createAuditLog(folder: string): Promise<{
  readonly flags: readonly string[];
  /** All calls so far. */
  calls(): Promise<readonly EvictionCall[]>;
}> {
  const [policy, file] = [path.join(folder, 'audit-policy.json'), path.join(folder, 'audit.log')];
  await writeFile(policy, JSON.stringify(POLICY));
  await writeFile(file, '');
  return {
    // Larger than the log of any test: what is rotated away would not be counted.
    flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${file}`, '--audit-log-maxsize=1000'],
    calls: async () => {
      const text = await readFile(file, 'utf8');
      // The last line may not be whole yet.
      const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
      const events = lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as AuditEvent]));
      return events
        .filter(({ requestURI }) => !requestURI.includes('dryRun=All'))
        .map(({ objectRef, requestReceivedTimestamp, responseStatus }) => ({
          pod: `${objectRef?.namespace}/${objectRef?.name}`,
          at: Date.parse(requestReceivedTimestamp),
          code: responseStatus?.code ?? 0,
          message: responseStatus?.message ?? '',
        }));
    },
  };
}
