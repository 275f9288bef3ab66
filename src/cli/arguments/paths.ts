/** Where the configuration file of the agent is, unless --config names another. */
export const AGENT_CONFIG_PATH = '/etc/nodemaint/config.yaml';
