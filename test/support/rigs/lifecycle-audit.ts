/** The audit log of an API server, as far as it tells of the product's writes. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

const ACCOUNTS = ['controller', 'lifecycle'].map((name) => `system:serviceaccount:nodemaint-system:nodemaint-${name}`);
/** The agent shares its identity with the kubelet of its node. */
const AGENT = 'nodemaint-agent';

/** Every write, with its answer. */
const POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata', verbs: ['create', 'patch', 'update', 'delete'] }, { level: 'None' }],
};

/** A write that the API server refused. */
export interface Refusal {
  readonly what: string;
  readonly code: number;
  readonly message: string;
  /** Whether the writer lacked the right; else a rule or a policy refused what it wrote. */
  readonly lacksRight: boolean;
}

/** What an audit log tells of the product's writes. */
export interface Writes {
  readonly count: number;
  /** Those that were refused, except what was gone (404) or decided on an older state (409), and blocked evictions (429). */
  readonly refused: readonly Refusal[];
}

/** A call of the product to the Eviction API, no trial. */
export interface EvictionCall {
  /** NAMESPACE/NAME. */
  readonly pod: string;
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
  /** The answer's status and message. */
  readonly code: number;
  readonly message: string;
}

/** An audit log that an API server writes with these flags. */
export interface AuditLog {
  readonly flags: readonly string[];
  writes(): Promise<Writes>;
  /** All calls to the Eviction API so far. */
  evictions(): Promise<readonly EvictionCall[]>;
}

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: { readonly subresource?: string; readonly namespace?: string; readonly name?: string };
  readonly annotations?: Readonly<Record<string, string>>;
  readonly responseStatus?: { readonly code: number; readonly message?: string };
}

/** Whether the write is the product's own, and no attack that a test tries. */
function isOwn({ user, userAgent, requestURI }: AuditEvent): boolean {
  return (ACCOUNTS.includes(user.username) || userAgent === AGENT) && !requestURI.includes('dryRun=All');
}

function isRefusal({ requestURI, responseStatus }: AuditEvent): boolean {
  const code = responseStatus?.code ?? 0;
  if (code < 400 || code >= 500 || code === 404 || code === 409) return false;
  return !(code === 429 && requestURI.split('?')[0]?.endsWith('/eviction') === true);
}

function callOf({ objectRef, requestReceivedTimestamp, responseStatus }: AuditEvent): EvictionCall {
  return {
    pod: `${objectRef?.namespace}/${objectRef?.name}`,
    at: Date.parse(requestReceivedTimestamp),
    code: responseStatus?.code ?? 0,
    message: responseStatus?.message ?? '',
  };
}

/** Creates an audit log in a folder. */
export async function createAuditLog(folder: string): Promise<AuditLog> {
  const [policy, file] = [path.join(folder, 'audit-policy.json'), path.join(folder, 'audit.log')];
  await writeFile(policy, JSON.stringify(POLICY));
  await writeFile(file, '');
  const readOwn = async (): Promise<readonly AuditEvent[]> => {
    const text = await readFile(file, 'utf8');
    // The last line may not be whole yet.
    const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
    return lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as AuditEvent])).filter(isOwn);
  };
  return {
    // Larger than the log of any test: what is rotated away would not be counted.
    flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${file}`, '--audit-log-maxsize=1000'],
    writes: async () => {
      const own = await readOwn();
      const refused = own.filter(isRefusal).map(({ verb, requestURI, responseStatus, annotations }) => {
        return {
          what: `${verb} ${requestURI}`,
          code: responseStatus?.code ?? 0,
          message: responseStatus?.message ?? '',
          lacksRight: annotations?.['authorization.k8s.io/decision'] === 'forbid',
        };
      });
      return { count: own.length, refused };
    },
    evictions: async () => {
      const own = await readOwn();
      return own
        .filter(({ objectRef, verb }) => verb === 'create' && objectRef?.subresource === 'eviction')
        .map(callOf);
    },
  };
}
