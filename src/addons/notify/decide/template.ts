/** The body of a message: JSON, in which words of the form {{name}} stand for the fields of the message. */
import { FIELD_NAMES, type MessageFields } from './words.ts';

/** How the body is made. */
export type Format = 'json' | 'slack';
export const FORMATS: readonly Format[] = ['json', 'slack'];

const MAX_TEMPLATE = 16_384;
/** No field is longer (`fieldsOf`). */
const LONGEST_FIELD = 4_096;
/** What a receiver may get at most. */
const MAX_BODY = 131_072;
const PLACEHOLDER = /\{\{\s*([^{}]*?)\s*\}\}/gu;

/** What Slack and those that take its messages read as markup. */
const SLACK_ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
]);

function escapedForSlack(text: string): string {
  return text.replaceAll(/[&<>]/gu, (sign) => SLACK_ENTITIES.get(sign) ?? sign);
}

/** The text as it stands between the quotation marks of a JSON string. */
function inJsonString(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function isField(name: string): name is keyof MessageFields {
  return FIELD_NAMES.some((each) => each === name);
}

function filled(template: string, fields: MessageFields): string {
  return template.replaceAll(PLACEHOLDER, (whole, name: string) =>
    isField(name) ? inJsonString(fields[name]) : whole,
  );
}

/** The fields as the receiver reads them: Slack takes some signs for markup. */
function readable(fields: MessageFields, format: Format): MessageFields {
  if (format === 'json') return fields;
  const entries = FIELD_NAMES.map((name) => [name, escapedForSlack(fields[name])]);
  return Object.fromEntries(entries) as MessageFields;
}

/** Fields that are all this text. */
function allFields(text: string): MessageFields {
  return Object.fromEntries(FIELD_NAMES.map((name) => [name, text])) as unknown as MessageFields;
}

/** What is wrong with a template; undefined where nothing is. */
export function templateProblem(template: string): string | undefined {
  if (template.length > MAX_TEMPLATE) return `a template has at most ${MAX_TEMPLATE} characters`;
  for (const [, name = ''] of template.matchAll(PLACEHOLDER)) {
    if (!isField(name)) return `there is no {{${name}}}: the words are ${FIELD_NAMES.join(', ')}`;
  }
  try {
    const longest = filled(template, allFields('"'.repeat(LONGEST_FIELD)));
    JSON.parse(longest);
    return longest.length > MAX_BODY
      ? `with its words filled in it may have more than ${MAX_BODY} characters`
      : undefined;
  } catch {
    return 'a template must be JSON, with its words inside of strings, such as {"text": "{{text}}"}';
  }
}

/** The body of a message: by the template where there is one, else in the format. */
export function bodyOf(fields: MessageFields, format: Format, template: string | undefined): string {
  const words = readable(fields, format);
  if (template !== undefined) return filled(template, words);
  return JSON.stringify(format === 'slack' ? { text: words.text } : words);
}
