import { type Word } from './colours.ts';
import { CONFIG } from './config.ts';

/** A panel of the dashboard: what it shows, and the queries with the names of their lines. */
export interface Panel {
  readonly title: string;
  readonly description: string;
  readonly kind: 'stat' | 'lines' | 'ranked' | 'stacked';
  readonly unit?: 'short' | 's' | 'bytes' | 'dateTimeFromNow';
  /** The names of lines that have a colour of their own. */
  readonly words?: readonly Word[];
  /** When a number is red. */
  readonly alarm?: 'above zero' | 'at zero';
  readonly queries: readonly (readonly [expression: string, legend: string])[];
}

/** A row of panels; its heading says which metrics they need. */
export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const { clusterLabel: cluster, nodeLabel: node, top } = CONFIG;

const IN_CLUSTER = `${cluster}=~"$${cluster}"`;
const ON_NODE = `${IN_CLUSTER},${node}=~"$node"`;

/** A gauge that each replica of a controller serves: the highest of a cluster, and the sum of all clusters that are chosen. */
function ofControllers(metric: string, label: string, filter = IN_CLUSTER): string {
  return `sum by (${label}) (max by (${cluster}, ${label}) (${metric}{${filter}}))`;
}

function nodesIn(state: string): string {
  return `sum(max by (${cluster}) (nodemaint_nodes{${IN_CLUSTER},state="${state}"}))`;
}

/**
 * Never a line for each of many, and no other ones at each moment: the lines of the few with the highest value in the time that
 * is shown.
 */
function topOf(label: string, metric: string): string {
  const highest = `max by (${label}) (max_over_time(${metric}[$__range] @ end()))`;
  return `max by (${label}) (${metric}) and on (${label}) topk(${top}, ${highest})`;
}

function quantiles(metric: string): Panel['queries'] {
  return [
    ['0.5', 'median'],
    ['0.95', '95 %'],
  ].map(([quantile, legend = '']) => [
    `histogram_quantile(${quantile}, sum by (le) (rate(${metric}_bucket{${IN_CLUSTER}}[1h])))`,
    legend,
  ]);
}

const FLEET: Row = {
  title: 'Nodes, by the reports on the Nodes (metrics of the controller)',
  panels: [
    {
      title: 'Guarded nodes',
      description: 'The agent holds the shutdown lock, and no check of its node fails.',
      kind: 'stat',
      queries: [[nodesIn('guarded'), 'guarded']],
    },
    {
      title: 'Unguarded nodes',
      description: 'Their next shutdown does not wait for their pods. `nodemaint nodes` names them, and says why.',
      kind: 'stat',
      alarm: 'above zero',
      queries: [[nodesIn('unguarded'), 'unguarded']],
    },
    {
      title: 'Nodes that go down',
      description: 'A shutdown is held, or a NodeMaintenance has cordoned the node.',
      kind: 'stat',
      queries: [[nodesIn('going-down'), 'going down']],
    },
    {
      title: 'Replicas that lead',
      description: 'One for each cluster. With none, agents drain their own nodes and NodeMaintenances of people wait.',
      kind: 'stat',
      alarm: 'at zero',
      queries: [[`sum(leader_election_master_status{name="nodemaint-controller",${IN_CLUSTER}})`, 'leading']],
    },
    {
      title: 'Certificate of the webhook',
      description: 'When the certificate that ends first ends. The controller renews it when a third of its life is left.',
      kind: 'stat',
      unit: 'dateTimeFromNow',
      queries: [[`1000 * min(nodemaint_webhook_certificate_expiry_timestamp_seconds{${IN_CLUSTER}} > 0)`, 'ends']],
    },
    {
      title: 'Nodes by state',
      description: 'What `nodemaint nodes` counts. A roll-out of agents moves nodes from outdated to guarded.',
      kind: 'stacked',
      words: ['guarded', 'unguarded', 'outdated', 'going-down', 'back', 'exempt'],
      queries: [[ofControllers('nodemaint_nodes', 'state'), '{{state}}']],
    },
    {
      title: 'Machines that went down in the past hour',
      description: 'How their shutdowns ended; forced and undrained: with pods left.',
      kind: 'lines',
      words: ['drained', 'forced', 'undrained', 'canceled'],
      queries: [[ofControllers('nodemaint_nodes_shut_down', 'result'), '{{result}}']],
    },
    {
      title: 'Versions',
      description: 'Processes by version: replicas of controllers, and agents whose metrics are read.',
      kind: 'lines',
      queries: [[`count by (version) (nodemaint_build_info{${IN_CLUSTER}})`, '{{version}}']],
    },
  ],
};

const DRAINS: Row = {
  title: 'Drains (metrics of the controller)',
  panels: [
    {
      title: 'NodeMaintenances by stage',
      description: 'Those that are complete are deleted after a week, where nobody named them.',
      kind: 'stacked',
      words: ['Idle', 'Cordon', 'Drain', 'Complete'],
      queries: [[ofControllers('nodemaintenance_controller_maintenances', 'stage'), '{{stage}}']],
    },
    {
      title: 'Drains',
      description: 'Waiting: for their turn, by --max-parallel-nodes, or because the control plane would be lost.',
      kind: 'stacked',
      words: ['draining', 'waiting', 'drained'],
      queries: [[ofControllers('nodemaintenance_controller_drains', 'state'), '{{state}}']],
    },
    {
      title: 'Pods of drains',
      description: 'Pods that are to leave, by how far they are.',
      kind: 'stacked',
      words: ['pending', 'evacuating'],
      queries: [[ofControllers('nodemaintenance_controller_pods', 'state'), '{{state}}']],
    },
    {
      title: 'Pods that block drains, by reason',
      description: 'What to do about each reason is in docs/usage/troubleshooting.md.',
      kind: 'lines',
      queries: [[ofControllers('nodemaintenance_controller_blocking_pods', 'reason'), '{{reason}}']],
    },
    {
      title: 'Oldest drains',
      description: `The ${top} drains that took longest in the time that is shown.`,
      kind: 'ranked',
      unit: 's',
      queries: [
        [
          topOf('maintenance', `nodemaintenance_controller_drain_age_seconds{${IN_CLUSTER}}`),
          '{{maintenance}}',
        ],
      ],
    },
    {
      title: 'Longest blocked pods',
      description: `The ${top} maintenances whose pods blocked longest in the time that is shown.`,
      kind: 'ranked',
      unit: 's',
      queries: [
        [topOf('maintenance', `nodemaintenance_controller_blocked_seconds{${IN_CLUSTER}}`), '{{maintenance}}'],
      ],
    },
    {
      title: 'Duration of drains',
      description: 'Of those that ended in the past hour.',
      kind: 'lines',
      unit: 's',
      queries: quantiles('nodemaintenance_controller_drain_duration_seconds'),
    },
  ],
};

const EVICTIONS: Row = {
  title: 'Evictions (metrics of the controller)',
  panels: [
    {
      title: 'Evictions per minute',
      description: 'By how they ended.',
      kind: 'lines',
      words: ['evicted', 'canceled'],
      queries: [
        [
          `60 * sum by (outcome) (rate(evictionrequest_controller_eviction_duration_seconds_count{${IN_CLUSTER}}[5m]))`,
          '{{outcome}}',
        ],
      ],
    },
    {
      title: 'Duration of evictions',
      description: 'From the request until the pod is gone, of those that ended in the past hour.',
      kind: 'lines',
      unit: 's',
      queries: quantiles('evictionrequest_controller_eviction_duration_seconds'),
    },
    {
      title: 'Attempts at the Eviction API per minute',
      description: 'By the answer. Blocked: a budget or a webhook refuses the eviction now.',
      kind: 'lines',
      words: ['accepted', 'blocked', 'failed'],
      queries: [
        [
          `60 * sum by (outcome) (rate(evictionrequest_controller_imperative_evictions_total{${IN_CLUSTER}}[5m]))`,
          '{{outcome}}',
        ],
      ],
    },
    {
      title: 'Eviction requests by active interceptor',
      description: 'Who is to act now.',
      kind: 'lines',
      queries: [[ofControllers('evictionrequest_controller_active_interceptor', 'interceptor'), '{{interceptor}}']],
    },
    {
      title: 'Unfinished eviction requests by requester',
      description: 'Who asks for them.',
      kind: 'lines',
      queries: [[ofControllers('evictionrequest_controller_active_requester', 'requester'), '{{requester}}']],
    },
    {
      title: 'Keys that wait in the queues',
      description: 'Work of the controller that is not done yet.',
      kind: 'lines',
      queries: [[`max by (name) (workqueue_depth{${IN_CLUSTER}})`, '{{name}}']],
    },
  ],
};

const AGENTS: Row = {
  title: 'Agents of the nodes that are chosen (metrics of the agents, with metricsAddress)',
  panels: [
    {
      title: 'Phases of the agents',
      description: 'Watching: no shutdown. Draining: a shutdown is held until the pods have left.',
      kind: 'stacked',
      words: ['watching', 'draining', 'released', 'recovering'],
      queries: [[`sum by (phase) (nodemaint_phase{${ON_NODE}})`, '{{phase}}']],
    },
    {
      title: 'Longest held shutdowns',
      description: `The ${top} nodes whose shutdown was held longest in the time that is shown.`,
      kind: 'ranked',
      unit: 's',
      queries: [
        [topOf(node, `nodemaint_shutdown_held_seconds{${ON_NODE}}`), `{{${node}}}`],
      ],
    },
    {
      title: 'What agents wait for, by who is to act',
      description: 'Pods that have not left, by who makes them leave.',
      kind: 'lines',
      queries: [[`sum by (actor) (nodemaint_waiting{${ON_NODE}})`, '{{actor}}']],
    },
    {
      title: 'Steps of shutdowns per hour',
      description: 'Forced and undrained: a machine went down with pods left.',
      kind: 'lines',
      words: ['drained', 'forced', 'undrained', 'canceled'],
      queries: [[`sum by (step) (increase(nodemaint_shutdown_steps_total{${ON_NODE}}[1h]))`, '{{step}}']],
    },
    {
      title: 'Static pods',
      description: 'Parked ones do not run: they come back when the maintenance is complete.',
      kind: 'lines',
      queries: [
        [`sum(nodemaint_static_pods_in_place{${ON_NODE}})`, 'in place'],
        [`sum(nodemaint_static_pods_parked{${ON_NODE}})`, 'parked'],
      ],
    },
    {
      title: 'Longest silence of the API server',
      description: 'How long the agent that has waited longest for an answer of the API server has waited.',
      kind: 'lines',
      unit: 's',
      queries: [[`max(time() - (nodemaint_api_server_last_answer_timestamp_seconds{${ON_NODE}} > 0))`, 'longest']],
    },
  ],
};

const PROCESSES: Row = {
  title: 'Processes',
  panels: [
    {
      title: 'Memory of the largest process',
      description: 'Of the agents, and of the controllers.',
      kind: 'lines',
      unit: 'bytes',
      queries: [[`max by (job) (process_resident_memory_bytes{job=~"nodemaint-.+",${IN_CLUSTER}})`, '{{job}}']],
    },
    {
      title: 'Processor time of the busiest process',
      description: 'Of the agents, and of the controllers; 1 is a whole processor.',
      kind: 'lines',
      queries: [
        [`max by (job) (rate(process_cpu_seconds_total{job=~"nodemaint-.+",${IN_CLUSTER}}[5m]))`, '{{job}}'],
      ],
    },
  ],
};

/** All rows, from the top. */
export const ROWS: readonly Row[] = [FLEET, DRAINS, EVICTIONS, AGENTS, PROCESSES];
