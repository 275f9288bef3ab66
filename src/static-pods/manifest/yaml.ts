/**
 * Parses YAML as the kubelet does (sigs.k8s.io/yaml 1.6, go.yaml.in/yaml/v2): YAML 1.1 with some number formats of 1.2, the
 * first of several documents, the last value of a repeated key. The options make this parser as tolerant as the kubelet's
 * where possible; a text that it still refuses is an error.
 */
import type { Document, ScalarTag, Tags } from 'yaml';
import { composeYaml, yamlContent, type YamlLimits } from '../../host/files/yaml.ts';

/** Manifests may contain long texts. JSON is cheap to parse and has no such limits. */
const LIMITS: YamlLimits = { bytes: 512 * 1024, tokens: 16_000, aliases: 100 };

/** Octal, hexadecimal and binary numbers with prefixes that YAML 1.1 does not have and the kubelet accepts. */
const PREFIXED_INT: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?0(?:[oO][0-7_]+|X[0-9a-fA-F_]+|B[01_]+)$/,
  resolve: (text) => {
    const digits = text.replaceAll('_', '').replace(/^[-+]/, '').toLowerCase();
    return text.startsWith('-') ? -Number(digits) : Number(digits);
  },
};

function isForeignTag(tag: { readonly tag: string; readonly format?: string }): boolean {
  return tag.format === 'TIME' || /:(timestamp|binary|omap|pairs|set)$/.test(tag.tag);
}

/** Errors that the kubelet's parser tolerates: further documents, a comment directly after a quoted text. */
function isTolerated({ code, message }: { readonly code: string; readonly message: string }): boolean {
  if (code === 'MULTIPLE_DOCS') return true;
  return code === 'MISSING_CHAR' && message.startsWith('Comments must be separated');
}

/** Parses the first document of `text`. Throws an Error that names the line. */
export function decodeYaml(text: string): unknown {
  // All of these characters end a line in YAML 1.1.
  const lines = text.replace(/\r(?!\n)|[\u0085\u2028\u2029]/g, '\n');
  const document: Document = composeYaml(lines, LIMITS, {
    // The kubelet's parser leaves times and base 60 numbers as strings.
    schema: 'yaml-1.1',
    customTags: (tags: Tags) => [PREFIXED_INT, ...tags.filter((tag) => typeof tag !== 'object' || !isForeignTag(tag))],
    resolveKnownTags: false,
    uniqueKeys: false,
  });
  const problem = document.errors.find((error) => !isTolerated(error));
  if (problem !== undefined) {
    const line = lines.slice(0, problem.pos[0]).split('\n').length;
    throw new Error(`YAML, line ${line}: ${problem.message}`);
  }
  return yamlContent(document, LIMITS);
}
