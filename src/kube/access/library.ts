/**
 * The only importer of @kubernetes/client-node, and of nothing but its configuration and authentication: by name, so that
 * a bundle leaves out the API classes, which would more than double the memory of an idle agent (docs/adr/0002).
 */
export { KubeConfig } from '@kubernetes/client-node';
