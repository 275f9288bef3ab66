/**
 * The colours of words, by Grafana's names: the same word has the same colour in every panel, and a person does not read a
 * good state in red because it is the fourth of its panel.
 */
const COLOURS = {
  guarded: 'green',
  unguarded: 'red',
  outdated: 'orange',
  'going-down': 'blue',
  back: 'purple',
  exempt: 'text',
  drained: 'green',
  forced: 'red',
  undrained: 'dark-red',
  canceled: 'text',
  Idle: 'text',
  Cordon: 'purple',
  Drain: 'blue',
  Complete: 'green',
  draining: 'blue',
  waiting: 'orange',
  pending: 'orange',
  evacuating: 'blue',
  evicted: 'green',
  accepted: 'green',
  blocked: 'orange',
  failed: 'red',
  watching: 'green',
  released: 'purple',
  recovering: 'orange',
} as const;

/** A word with a colour. */
export type Word = keyof typeof COLOURS;

/** The overrides of a panel whose lines have these names. */
export function coloured(words: readonly Word[]): readonly object[] {
  return words.map((word) => ({
    matcher: { id: 'byName', options: word },
    properties: [{ id: 'color', value: { mode: 'fixed', fixedColor: COLOURS[word] } }],
  }));
}

/** The colours of a number: what is wrong stands out. */
export function thresholdsOf(alarm: 'above zero' | 'at zero' | undefined): object {
  if (alarm === undefined) return { mode: 'absolute', steps: [{ color: 'text', value: null }] };
  const [low, high] = alarm === 'at zero' ? ['red', 'text'] : ['text', 'red'];
  return { mode: 'absolute', steps: [{ color: low, value: null }, { color: high, value: 1 }] };
}
