/** What commands print for programs, in the conventions of Kubernetes' API: apiVersion and kind, RFC 3339, seconds. */
import { stringify } from 'yaml';
import { preciseRfc3339 } from '../../decide/time.ts';

/** The group and version of what the commands print for programs. */
const DOCUMENT_VERSION = 'cli.nodemaintenance.x-k8s.io/v1alpha1';

/** Members whose numbers are milliseconds since the epoch. */
const TIME = /^(?:at|since|.+(?:At|Since|Deadline))$/;
/** Members whose numbers are spans of time: milliseconds or seconds. */
const SPAN = /^(.+?)(Ms|Sec)$/;

function asMember(key: string, value: unknown): readonly [string, unknown] {
  if (typeof value !== 'number') return [key, converted(value)];
  if (TIME.test(key)) return [key, preciseRfc3339(value)];
  const [, name, unit] = SPAN.exec(key) ?? [];
  if (name === undefined) return [key, value];
  return [`${name}Seconds`, unit === 'Ms' ? Math.round(value) / 1000 : value];
}

/** The same with times as RFC 3339, and spans of time as members `…Seconds`. */
function converted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(converted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => asMember(key, member)));
}

/**
 * The document of a view. Numbers of the members `at`, `since`, `…At`, `…Since` and `…Deadline` are milliseconds since the epoch, and become
 * RFC 3339; those of `…Ms` and `…Sec` become `…Seconds`.
 */
function documentOf(kind: string, content: object): object {
  return { apiVersion: DOCUMENT_VERSION, kind, ...(converted(content) as object) };
}

/** An object for programs. */
export function formatObject(object: object, output: 'json' | 'yaml'): string {
  return output === 'json' ? `${JSON.stringify(object, null, 2)}\n` : stringify(object);
}

/** A view for programs, as JSON or YAML. */
export function formatDocument(kind: string, content: object, output: 'json' | 'yaml'): string {
  return formatObject(documentOf(kind, content), output);
}

/** One view of several that follow each other: a line of JSON, or a document of YAML. */
export function formatStreamed(kind: string, content: object, output: 'json' | 'yaml'): string {
  const document = documentOf(kind, content);
  return output === 'json' ? `${JSON.stringify(document)}\n` : `---\n${stringify(document)}`;
}
