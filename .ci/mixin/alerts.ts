import { CONFIG } from './config.ts';

/** An alert as it is written here; its runbook follows from its name. */
interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly severity?: 'warning' | 'critical';
  readonly summary: string;
  readonly description: string;
}

const { controllerJob, agentJob, clusterLabel: cluster, nodeLabel: node, thresholds } = CONFIG;

/** The highest of what the replicas of a controller serve, for each cluster. */
function ofReplicas(metric: string, ...by: readonly string[]): string {
  return `max by (${[cluster, ...by].join(', ')}) (${metric})`;
}

/** The nodes that kube-state-metrics calls not ready, with the name of the node where the agents have it. */
const NOT_READY = `label_replace(kube_node_status_condition{condition="Ready",status="true"} == 0, "${node}", "$1", "node", "(.+)")`;

const OUTDATED = 'nodemaint_nodes{state="outdated"}';

const CONTROLLER_ALERTS: readonly Alert[] = [
  {
    alert: 'NodemaintNoControllerLeads',
    expr: `${ofReplicas('leader_election_master_status{name="nodemaint-controller"}')} == 0`,
    for: '5m',
    summary: 'No nodemaint controller leads.',
    description: 'Agents drain their own nodes alone; NodeMaintenances of people wait.',
  },
  {
    alert: 'NodemaintControllerNotScraped',
    expr: `absent(up{job="${controllerJob}"} == 1)`,
    for: '15m',
    summary: 'No replica of the nodemaint controller can be scraped.',
    description: 'Either none runs, or Prometheus may not read its metrics.',
  },
  {
    alert: 'NodemaintReplicaDown',
    expr: `count by (${cluster}) (up{job="${controllerJob}"} == 0) > 0 and on (${cluster}) count by (${cluster}) (up{job="${controllerJob}"} == 1) > 0`,
    for: '15m',
    summary: 'A replica of the nodemaint controller cannot be scraped.',
    description:
      '{{ $value }} replicas do not answer; with one left, a drain of its node leaves the cluster without a controller for a time.',
  },
  {
    alert: 'NodemaintDrainTakesLong',
    expr: `${ofReplicas('nodemaintenance_controller_drain_age_seconds', 'maintenance')} > ${thresholds.drainTakes}`,
    summary: 'The drain of NodeMaintenance {{ $labels.maintenance }} takes long.',
    description: 'It began {{ $value | humanizeDuration }} ago.',
  },
  {
    alert: 'NodemaintDrainBlocked',
    expr: `${ofReplicas('nodemaintenance_controller_blocked_seconds', 'maintenance')} > ${thresholds.podBlocks}`,
    summary: 'A pod blocks the drain of NodeMaintenance {{ $labels.maintenance }}.',
    description: 'It has blocked for {{ $value | humanizeDuration }}; nodemaint status names it, and says why.',
  },
  {
    alert: 'NodemaintNodesUnguarded',
    expr: `${ofReplicas('nodemaint_nodes{state="unguarded"}')} > 0`,
    for: '1h',
    summary: 'A shutdown of some nodes would not wait for their pods.',
    description: '{{ $value }} nodes are unguarded; nodemaint nodes names them, and says why.',
  },
  {
    alert: 'NodemaintRolloutStuck',
    expr: `${ofReplicas(OUTDATED)} >= (${ofReplicas(`${OUTDATED} offset 2h`)} > 0)`,
    for: '15m',
    summary: 'The agents of some nodes have had an older version than the controller for hours.',
    description: '{{ $value }} nodes are outdated, and their number has not fallen for two hours.',
  },
  {
    alert: 'NodemaintNodesForced',
    expr: `${ofReplicas('nodemaint_nodes_shut_down{result=~"forced|undrained"}', 'result')} > 0`,
    summary: 'Machines went down before their pods had left.',
    description: '{{ $value }} in the past hour; the Events of the Nodes say why.',
  },
  {
    alert: 'NodemaintWebhookCertificate',
    expr: `min by (${cluster}) (nodemaint_webhook_certificate_expiry_timestamp_seconds > 0) - time() < ${thresholds.certificateLeft}`,
    for: '1h',
    summary: "The certificate of the controller's webhook expires.",
    description: 'It is valid for {{ $value | humanizeDuration }}, and should have been renewed long ago.',
  },
];

const AGENT_ALERTS: readonly Alert[] = [
  {
    alert: 'NodemaintAgentDown',
    // A node that is down, or goes down, has no agent to be woken for. Without kube-state-metrics nothing is left out.
    expr: `up{job="${agentJob}"} == 0 unless on (${cluster}, ${node}) ${NOT_READY}`,
    for: '15m',
    summary: `The agent of {{ $labels.${node} }} cannot be scraped.`,
    description: 'If the node is up, nothing holds its next shutdown.',
  },
  {
    alert: 'NodemaintLockNotHeld',
    expr: `nodemaint_shutdown_lock_held == 0 unless on (${cluster}, ${node}) nodemaint_phase{phase="released"} == 1`,
    for: '5m',
    severity: 'critical',
    summary: `The agent of {{ $labels.${node} }} does not hold the shutdown lock.`,
    description: 'A shutdown of this node would not wait for its pods.',
  },
  {
    alert: 'NodemaintShutdownHeldLong',
    expr: `nodemaint_shutdown_held_seconds > ${thresholds.shutdownHeld}`,
    summary: `The shutdown of {{ $labels.${node} }} is held for long.`,
    description: 'It has been held for {{ $value | humanizeDuration }}; nodemaint status on the node says for what.',
  },
  {
    alert: 'NodemaintStaticPodsParked',
    expr: `nodemaint_static_pods_parked > 0 and on (${cluster}, ${node}) nodemaint_phase{phase="watching"} == 1`,
    for: '1h',
    summary: `Manifests of static pods of {{ $labels.${node} }} are parked, and no shutdown is held.`,
    description: '{{ $value }} manifests are parked for a NodeMaintenance that is not complete, or by hand.',
  },
  {
    alert: 'NodemaintApiServerSilent',
    expr: `time() - nodemaint_api_server_last_answer_timestamp_seconds > ${thresholds.apiServerSilent}`,
    for: '5m',
    summary: `The agent of {{ $labels.${node} }} has heard nothing of the API server.`,
    description: 'The last answer came {{ $value | humanizeDuration }} ago.',
  },
  {
    alert: 'NodemaintStateNotSaved',
    expr: 'nodemaint_storage_problem == 1',
    for: '5m',
    summary: `The agent of {{ $labels.${node} }} cannot write its state to the disk.`,
    description: 'It still holds a shutdown, but loses its state if it restarts.',
  },
  {
    alert: 'NodemaintNoticeSourceSilent',
    expr: `time() - nodemaint_notice_source_last_success_timestamp_seconds > ${thresholds.noticeSourceSilent}`,
    for: '5m',
    summary: `The source of notices {{ $labels.source }} does not answer {{ $labels.${node} }}.`,
    description: 'Without it the node does not learn that its cloud takes it away.',
  },
  {
    alert: 'NodemaintShutdownForced',
    expr: [
      `max by (${cluster}, ${node}) (increase(nodemaint_shutdown_steps_total{step=~"forced|undrained"}[1h])) > 0`,
      `or max by (${cluster}, ${node}) (time() - nodemaint_last_shutdown_timestamp_seconds{result=~"forced|undrained"}) < ${thresholds.forcedAgo}`,
    ].join(' '),
    summary: `{{ $labels.${node} }} went down before its pods had left.`,
    description: 'The Events of the Node say why.',
  },
];

function ruleOf({ alert, expr, for: pending, severity = 'warning', summary, description }: Alert): object {
  const runbook = `${CONFIG.runbook}#${alert.toLowerCase()}`;
  return {
    alert,
    expr,
    ...(pending === undefined ? {} : { for: pending }),
    labels: { severity },
    annotations: { summary, description, runbook_url: runbook },
  };
}

/** The PrometheusRule with all alerts. */
export function alertRules(): object {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: {
      name: 'nodemaint',
      namespace: 'nodemaint-system',
      labels: { 'app.kubernetes.io/name': 'nodemaint-controller' },
    },
    spec: {
      groups: [
        { name: 'nodemaint-controller', rules: CONTROLLER_ALERTS.map(ruleOf) },
        { name: 'nodemaint-agent', rules: AGENT_ALERTS.map(ruleOf) },
      ],
    },
  };
}
