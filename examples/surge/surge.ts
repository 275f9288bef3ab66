/**
 * Another pod first: an interceptor for pods of Deployments. When one of them is asked to leave, the rollout of its Deployment
 * is restarted, as by `kubectl rollout restart`, and the pod is kept until a new one has taken its place. Nothing is
 * remembered: what there is to do follows each time from the Deployment and the ReplicaSet of the pod.
 */
import process from 'node:process';
import {
  createKubeClient,
  createLog,
  createSystemClock,
  type InterceptorStep,
  type KubeClient,
  type KubeObject,
  loadClusterAccess,
  type Pod,
  runInterceptor,
} from 'node-maintenance-agent/interceptor';

const NAME = 'surge.example.com';
/** How the template of a Deployment asks for this interceptor. */
const ASKS = `interceptor.evictionrequest.coordination.k8s.io/priority_${NAME}`;
/** What `kubectl rollout restart` sets in the template. */
const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';
/** On a Deployment: its latest revision; on a ReplicaSet: the last revision that it was. */
const REVISION = 'deployment.kubernetes.io/revision';
const AGAIN_MS = 2_000;

/** The parts of an apps/v1 Deployment that are read here. */
interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas: number;
    readonly paused?: boolean;
    readonly strategy: { readonly type: string };
    readonly template: { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
    readonly conditions?: readonly { readonly type: string; readonly reason: string }[];
  };
}

const completed = (message: string): InterceptorStep => ({ kind: 'completed', message });
const working = (message: string): InterceptorStep => ({ kind: 'working', message, againMs: AGAIN_MS });

/** What is to be done for a pod of this ReplicaSet: a step to report, or the rollout of the Deployment is to be restarted. */
function decide({ metadata, spec, status = {} }: Deployment, replicaSet: KubeObject): InterceptorStep | 'restart' {
  // Not the pod alone: who may change a pod need not be allowed to restart its Deployment.
  if (spec.template.metadata?.annotations?.[ASKS] === undefined) return completed('The template does not ask for it.');
  if (spec.paused === true) return completed('The Deployment is paused.');
  if (spec.strategy.type !== 'RollingUpdate') return completed('The Deployment has no rolling update.');
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0)) return working('The rollout begins.');
  if (replicaSet.metadata.annotations?.[REVISION] === metadata.annotations?.[REVISION]) return 'restart';
  const { replicas = 0, updatedReplicas: updated = 0, availableReplicas: available = 0 } = status;
  if (updated === spec.replicas && replicas === updated && available === updated) {
    return completed('The rollout is complete.');
  }
  const progress = status.conditions?.find(({ type }) => type === 'Progressing');
  if (progress?.reason === 'ProgressDeadlineExceeded') return completed('The rollout makes no progress.');
  return working(`The rollout has ${updated} of ${spec.replicas} new pods; ${available} pods are available.`);
}

/** The object of that kind which controls this one; undefined where none does, or it is another one by now. */
async function ownerOf(
  client: KubeClient,
  { metadata }: KubeObject,
  kind: 'ReplicaSet' | 'Deployment',
  signal: AbortSignal,
): Promise<{ readonly path: string; readonly object: KubeObject } | undefined> {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.kind !== kind || owner.apiVersion !== 'apps/v1') return undefined;
  const path = `/apis/apps/v1/namespaces/${metadata.namespace ?? 'default'}/${kind.toLowerCase()}s/${owner.name}`;
  const { status, body } = await client.send({ method: 'GET', path }, signal);
  if (status === 404) return undefined;
  if (status !== 200) throw new Error(`GET ${path}: ${status}`);
  const object = body as KubeObject;
  return object.metadata.uid === owner.uid ? { path, object } : undefined;
}

/** Restarts the rollout of the Deployment as it was read; one that has changed since is looked at again. */
async function restart(
  client: KubeClient,
  path: string,
  { metadata }: KubeObject,
  signal: AbortSignal,
): Promise<InterceptorStep> {
  const annotations = { [RESTARTED_AT]: new Date().toISOString() };
  const body = {
    metadata: { resourceVersion: metadata.resourceVersion },
    spec: { template: { metadata: { annotations } } },
  };
  const { status } = await client.send({ method: 'PATCH', path, body, patch: { kind: 'merge' } }, signal);
  if (status !== 200 && status !== 409) throw new Error(`PATCH ${path}: ${status}`);
  return working(status === 409 ? 'The Deployment has just changed.' : 'The rollout was restarted.');
}

async function act(client: KubeClient, pod: Pod, signal: AbortSignal): Promise<InterceptorStep> {
  const replicaSet = await ownerOf(client, pod, 'ReplicaSet', signal);
  if (replicaSet === undefined) return completed('The pod belongs to no ReplicaSet.');
  const deployment = await ownerOf(client, replicaSet.object, 'Deployment', signal);
  if (deployment === undefined) return completed('The pod belongs to no Deployment.');
  const step = decide(deployment.object as Deployment, replicaSet.object);
  return step === 'restart' ? await restart(client, deployment.path, deployment.object, signal) : step;
}

const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => {
    stopping.abort();
  });
}
// The service account of the pod, where no kubeconfig is named.
const client = createKubeClient(await loadClusterAccess(process.env['KUBECONFIG']), 'surge');
const dependencies = { client, clock: createSystemClock(), log: createLog('info', 'surge') };
await runInterceptor(
  { name: NAME, act: (_request, pod, signal) => act(client, pod, signal) },
  {},
  dependencies,
  stopping.signal,
);
client.close();
