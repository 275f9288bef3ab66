/** The checks of `nodemaint check`: from the facts of a cluster to results and fixes. */
import { CONTROLLER_NAMESPACE } from '../../api/names.ts';
import { counted } from '../../decide/counted.ts';
import { firstNames } from '../../decide/name-list.ts';
import type { Check } from './node-checks.ts';
import { type FleetNode, isSameBuild } from '../fleet/node-state.ts';
import type { PolicyFacts, RightsFacts } from './installed.ts';

/** A fact, or why it could not be read: `forbidden` where the person may not read it. */
export type Fact<T> =
  | { readonly kind: 'known'; readonly value: T }
  | { readonly kind: 'forbidden' | 'failed'; readonly why: string };

/** A custom resource in the cluster; a list of what is wrong with it. */
export interface ResourceFact {
  readonly crd: string;
  readonly state: 'right' | 'missing' | 'not-served' | 'older';
  /** The fields of the schema that are missing, where it is older. */
  readonly fields: readonly string[];
}

export interface ControllerFact {
  readonly state: 'alive' | 'dead' | 'missing';
  readonly holder: string;
  /** '' where the controller does not say. */
  readonly version: string;
}

export interface WebhookFacts {
  readonly isConfigured: boolean;
  /** When the certificate of its authority expires, in milliseconds since the epoch; undefined where there is none. */
  readonly caUntil: number | undefined;
  /** Endpoints of its Service that are ready. */
  readonly endpoints: number;
}

export interface ClusterFacts {
  readonly now: number;
  /** The version of this program. */
  readonly version: string;
  readonly resources: Fact<readonly ResourceFact[]>;
  readonly policies: Fact<PolicyFacts>;
  readonly rights: Fact<RightsFacts>;
  readonly controller: Fact<ControllerFact>;
  readonly webhook: Fact<WebhookFacts>;
  readonly nodes: Fact<readonly FleetNode[]>;
  /** What earlier versions have left, as RESOURCE/NAME. */
  readonly leftOvers: Fact<readonly string[]>;
}

const IN_HOME = `kubectl -n ${CONTROLLER_NAMESPACE}`;
const APPLY = 'kubectl apply -k manifests, or helm upgrade';
/** An apply leaves a field alone that is not in the manifest, such as a selector that somebody has added. */
const REPLACE = `${APPLY}; what that leaves: kubectl replace -k manifests/policies`;
const MAX_NAMES = 5;
/** Whoever deletes what is left needs all of it; stories, which go by their label, come last and may be many. */
const MAX_LEFT_OVERS = 40;
const DAY_MS = 86_400_000;

function named(names: readonly string[]): string {
  return firstNames(names, MAX_NAMES);
}

type Judged = Omit<Check, 'name'>;

const finding =
  (result: Check['result']) =>
  (message: string, fix = ''): Judged => ({ result, message, fix });
const [ok, warn, fail] = [finding('ok'), finding('warn'), finding('fail')];

/** The check of a fact; one that could not be read fails, or warns where the person may not read it. */
function checkOf<T>(name: string, fact: Fact<T>, judge: (value: T) => Judged): Check {
  if (fact.kind === 'known') return { name, ...judge(fact.value) };
  const again = 'run the check again; if it fails again: kubectl get --raw /readyz?verbose';
  if (fact.kind === 'failed') return { name, ...fail(fact.why, again) };
  return { name, ...warn(`not checked: ${fact.why}`, 'run it with the rights of a cluster administrator') };
}

function judgeResources(resources: readonly ResourceFact[]): Judged {
  const wrong = resources.filter(({ state }) => state !== 'right');
  if (wrong.length === 0) return ok(`${resources.map(({ crd }) => crd).join(', ')} are served`);
  const words = { right: '', missing: 'is not installed', 'not-served': 'is not served' };
  const texts = wrong.map(({ crd, state, fields }) =>
    state === 'older' ? `${crd} is of an older version, without ${fields.join(', ')}` : `${crd} ${words[state]}`,
  );
  return fail(texts.join('; '), APPLY);
}

function judgePolicies({ missing, changed, refusesPods }: PolicyFacts): Judged {
  const wrong = missing.length === 0 ? [] : [`missing: ${named(missing)}`];
  if (changed.length > 0) wrong.push(`not as in this version, or with such a binding: ${named(changed)}`);
  if (wrong.length > 0) return fail(wrong.join('; '), changed.length > 0 ? REPLACE : APPLY);
  const gate = refusesPods
    ? '; DaemonSet pods are refused during a drain instead of held, as before Kubernetes 1.36'
    : '';
  return ok(`all policies and bindings are there, and say what those of this version do${gate}`);
}

function judgeRights({ missing, elsewhere, isReleaseOff }: RightsFacts): Judged {
  const outside = `given to accounts outside of ${CONTROLLER_NAMESPACE}, which no policy restricts: ${named(elsewhere)}`;
  if (elsewhere.length > 0) return fail(outside, `delete them, and install all in ${CONTROLLER_NAMESPACE}: ${APPLY}`);
  if (missing.length > 0) return fail(`missing: ${named(missing)}`, APPLY);
  const have = 'agents and controller have their roles';
  const off = 'the account nodemaint-agent-release is left out: gated DaemonSet pods wait for a controller';
  return ok(isReleaseOff ? `${have}; ${off}` : have);
}

function judgeController({ state, holder, version }: ControllerFact, own: string): Judged {
  const logs = `${IN_HOME} get pods; ${IN_HOME} logs deployment/nodemaint-controller`;
  if (state === 'missing') return fail('no controller has ever led: agents drain their own nodes alone', logs);
  if (state === 'dead') return fail('no controller renews its Lease: agents drain their own nodes alone', logs);
  if (version !== '' && !isSameBuild(version, own)) {
    return warn(
      `${holder} leads with version ${version}, and this program is ${own}`,
      'upgrade the older of the two: docs/usage/upgrade.md#upgrade-and-rollback',
    );
  }
  return ok(`${holder} leads${version === '' ? '' : ` with version ${version}`}`);
}

function judgeWebhook({ isConfigured, caUntil, endpoints }: WebhookFacts, now: number): Judged {
  if (!isConfigured) return warn('not installed: times of interceptors are not checked', APPLY);
  const restart = `${IN_HOME} rollout restart deployment/nodemaint-controller`;
  if (endpoints === 0) return fail('its Service has no endpoint that is ready', `${IN_HOME} get pods,endpointslices`);
  if (caUntil === undefined)
    return fail('its configuration has no valid caBundle: the controller has not written it', restart);
  if (caUntil <= now) return fail('the certificate in its caBundle has expired', restart);
  const days = Math.floor((caUntil - now) / DAY_MS);
  return ok(`${endpoints} endpoints are ready; its certificate authority is valid for ${days} days`);
}

function judgeNodes(all: readonly FleetNode[]): Judged {
  const nodes = all.filter(({ state }) => state !== 'exempt');
  const leftOut =
    all.length === nodes.length ? '' : `; ${all.length - nodes.length} can have none, or are to have none`;
  if (nodes.length === 0) return warn(`no node is there that should have an agent${leftOut}`, 'kubectl get nodes');
  const unguarded = nodes.filter(({ state }) => state === 'unguarded');
  const have = counted(nodes.length, 'node has an agent', 'nodes have an agent');
  if (unguarded.length === 0) return ok(`${have}${leftOut}`);
  const names = named(unguarded.map(({ name, reason }) => (reason === '' ? name : `${name} (${reason})`)));
  return fail(
    `${unguarded.length} of ${nodes.length} nodes are unguarded: ${names}`,
    unguarded.every(({ agent }) => agent === undefined)
      ? 'install the agent: docs/usage/install.md'
      : 'nodemaint nodes says why; nodemaint doctor on the nodes that have an agent',
  );
}

function judgeVersions(nodes: readonly FleetNode[]): Judged {
  const outdated = nodes.filter(({ state }) => state === 'outdated');
  if (nodes.every(({ agent }) => agent === undefined)) return warn('no agent says its version', 'see "agents"');
  if (outdated.length === 0) return ok('no agent has another version than the cluster');
  const have = counted(outdated.length, 'node has', 'nodes have');
  return warn(
    `${have} an agent of another version: ${named(outdated.map(({ name }) => name))}`,
    'upgrade the agents of these nodes: docs/usage/upgrade.md#upgrade-and-rollback',
  );
}

function judgeLeftOvers(leftOvers: readonly string[]): Judged {
  if (leftOvers.length === 0) return ok('none');
  const message = `${counted(leftOvers.length, 'object is', 'objects are')} of an earlier version: ${firstNames(leftOvers, MAX_LEFT_OVERS)}`;
  return warn(message, 'docs/usage/upgrade.md says what each part was, and how to delete it');
}

/** All checks, in the order in which the parts of a cluster are installed. */
export function examineCluster(facts: ClusterFacts): readonly Check[] {
  return [
    checkOf('custom resources', facts.resources, judgeResources),
    checkOf('policies', facts.policies, judgePolicies),
    checkOf('rights', facts.rights, judgeRights),
    checkOf('controller', facts.controller, (value) => judgeController(value, facts.version)),
    checkOf('webhook', facts.webhook, (value) => judgeWebhook(value, facts.now)),
    checkOf('agents', facts.nodes, judgeNodes),
    checkOf('versions of agents', facts.nodes, judgeVersions),
    checkOf('left-overs', facts.leftOvers, judgeLeftOvers),
  ];
}
