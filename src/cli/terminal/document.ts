import { stringify } from 'yaml';

/** The group and version of what the commands print for programs. */
export const DOCUMENT_VERSION = 'cli.nodemaintenance.x-k8s.io/v1alpha1';

/** Something for programs, as JSON or YAML: with apiVersion and kind in front. */
export function formatDocument(kind: string, content: object, output: 'json' | 'yaml'): string {
  const document = { apiVersion: DOCUMENT_VERSION, kind, ...content };
  return output === 'json' ? `${JSON.stringify(document, null, 2)}\n` : stringify(document);
}
