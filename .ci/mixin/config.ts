/** What the alerts and the dashboard have in common: manifests/monitoring/rules.yaml and dashboard.json are made from it. */
export const CONFIG = {
  controllerJob: 'nodemaint-controller',
  agentJob: 'nodemaint-agent',
  /** The label that tells clusters apart where one Prometheus has several; other ones have no such label. */
  clusterLabel: 'cluster',
  /** The label of the agents' metrics that has the name of the node. */
  nodeLabel: 'instance',
  /** `runbook_url` of an alert is this, `#` and its name. */
  runbook: 'docs/usage/monitoring.md',
  /** How many nodes or maintenances a panel shows at most. */
  top: 10,
  /** Seconds, nodes. */
  thresholds: {
    drainTakes: 86_400,
    podBlocks: 3_600,
    shutdownHeld: 3_600,
    certificateLeft: 2_592_000,
    apiServerSilent: 900,
    noticeSourceSilent: 600,
    forcedAgo: 3_600,
  },
} as const;
