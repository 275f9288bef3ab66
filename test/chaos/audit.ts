import { open, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** A write that the API server has carried out. */
export interface Write {
  readonly user: string;
  /** What the program says that it is; the agent and the kubelet of a node are the same user. */
  readonly program: string;
  readonly verb: string;
  /** The resource with its subresource, such as pods/eviction. */
  readonly resource: string;
  /** NAMESPACE/NAME, or NAME. */
  readonly key: string;
  /** The revision of the object that the server answered; undefined where it answered none. */
  readonly revision: number | undefined;
  /** When the request came, in milliseconds since the epoch. */
  readonly at: number;
}

/** The API server's audit log of writes. */
export interface WriteLog {
  /** Flags of kube-apiserver that make it write the log. */
  readonly flags: readonly string[];
  /** All writes since the log began, in the order in which they ended. */
  read(): Promise<readonly Write[]>;
}

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly userAgent?: string;
  readonly verb: string;
  readonly requestReceivedTimestamp: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly responseObject?: { readonly metadata?: { readonly name?: string; readonly resourceVersion?: string } };
}

const RESOURCES = [
  { group: '', resources: ['nodes', 'nodes/status', 'pods', 'pods/status', 'pods/eviction', 'pods/binding'] },
  { group: 'nodemaintenance.x-k8s.io' },
  { group: 'coordination.x-k8s.io' },
  { group: 'policy', resources: ['poddisruptionbudgets', 'poddisruptionbudgets/status'] },
];

function writeOf(line: string): Write | undefined {
  const { user, userAgent, verb, requestReceivedTimestamp, objectRef, responseStatus, responseObject } = JSON.parse(
    line,
  ) as AuditEvent;
  const code = responseStatus?.code ?? 0;
  if (code < 200 || code >= 300) return undefined;
  const subresource = objectRef?.subresource === undefined ? '' : `/${objectRef.subresource}`;
  const name = objectRef?.name ?? responseObject?.metadata?.name ?? '';
  const revision = responseObject?.metadata?.resourceVersion;
  return {
    user: user.username,
    program: userAgent ?? '',
    verb,
    resource: `${objectRef?.resource ?? ''}${subresource}`,
    key: objectRef?.namespace === undefined ? name : `${objectRef.namespace}/${name}`,
    revision: revision === undefined ? undefined : Number(revision),
    at: Date.parse(requestReceivedTimestamp),
  };
}

/** Makes a log in `folder` of all writes to the objects that the histories are about. */
export async function createWriteLog(folder: string): Promise<WriteLog> {
  const policy = path.join(folder, 'audit-policy.json');
  const log = path.join(folder, 'audit.log');
  const verbs = ['create', 'update', 'patch', 'delete', 'deletecollection'];
  const rules = [{ level: 'RequestResponse', verbs, resources: RESOURCES }, { level: 'None' }];
  const header = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitManagedFields: true };
  await writeFile(policy, JSON.stringify({ ...header, omitStages: ['RequestReceived', 'ResponseStarted'], rules }));
  await writeFile(log, '');
  const writes: Write[] = [];
  let offset = 0;
  let rest = '';

  const readMore = async (): Promise<void> => {
    const file = await open(log, 'r');
    try {
      const { size } = await file.stat();
      const buffer = Buffer.alloc(size - offset);
      await file.read(buffer, 0, buffer.length, offset);
      offset = size;
      const lines = (rest + buffer.toString('utf8')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const write = line === '' ? undefined : writeOf(line);
        if (write !== undefined) writes.push(write);
      }
    } finally {
      await file.close();
    }
  };
  let reading: Promise<void> = Promise.resolve();

  return {
    flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, '--audit-log-maxsize=20000'],
    read: async () => {
      reading = reading.then(readMore);
      await reading;
      return writes;
    },
  };
}
