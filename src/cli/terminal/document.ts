import { formatObject } from '../cluster.ts';

/** The group and version of what the commands print for programs. */
const DOCUMENT_VERSION = 'cli.nodemaintenance.x-k8s.io/v1alpha1';

/** Something for programs, as JSON or YAML: with apiVersion and kind in front. */
export function formatDocument(kind: string, content: object, output: 'json' | 'yaml'): string {
  return formatObject({ apiVersion: DOCUMENT_VERSION, kind, ...content }, output);
}
