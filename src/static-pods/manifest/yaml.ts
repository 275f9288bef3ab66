/**
 * YAML as the kubelet reads it (sigs.k8s.io/yaml 1.6, go.yaml.in/yaml/v2): YAML 1.1 with a few numbers of 1.2, of several
 * documents the first, of a key given twice the last. Where this parser is stricter it is told not to be, as far as it
 * can be told; what it still refuses is an error and not a guess.
 */
import type { Document, ScalarTag, Tags } from 'yaml';
import { composeYaml, yamlContent, type YamlLimits } from '../../host/files/yaml.ts';

/** A manifest may have a long text in it. JSON is cheap and needs no such bound. */
const LIMITS: YamlLimits = { bytes: 512 * 1024, tokens: 16_000, aliases: 100 };

/** Octal, hexadecimal and binary numbers with the prefixes that YAML 1.1 does not have and the kubelet takes. */
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

/** What the kubelet's parser does not mind: further documents, a comment right after a quoted text. */
function isTolerated({ code, message }: { readonly code: string; readonly message: string }): boolean {
  if (code === 'MULTIPLE_DOCS') return true;
  return code === 'MISSING_CHAR' && message.startsWith('Comments must be separated');
}

/** The first document of `text`. Throws an Error that names the line. */
export function decodeYaml(text: string): unknown {
  // All of these end a line in YAML 1.1.
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
