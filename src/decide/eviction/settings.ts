/**
 * How long others are waited for before the Eviction API is asked again, and what a promise of theirs says: the options of the
 * controller. Agents that drain their own nodes read them from its Lease, so that both go by the same ones.
 */
import type { Lease } from '../../api/lease.ts';
import { EVICTION_SETTINGS_ANNOTATION } from '../../api/names.ts';
import { DEFAULT_PROMISE_WORDS } from './api-answer.ts';
import { DEFAULT_PATIENCE } from './imperative.ts';
import { parseObject } from '../json.ts';

export interface EvictionSettings {
  /** In milliseconds: --take-over-timeout. */
  readonly takeOverMs: number;
  /** In milliseconds: --promise-timeout. */
  readonly promiseMs: number;
  /** --promise-words. */
  readonly promiseWords: readonly string[];
}

/** Those of a controller without these options; agents go by them where no controller has said others. */
export const DEFAULT_EVICTION_SETTINGS: EvictionSettings = { ...DEFAULT_PATIENCE, promiseWords: DEFAULT_PROMISE_WORDS };

/** A longer text, which no agent reads. */
const MAX_TEXT = 16_384;
/** A longer time counts as this one. */
const MAX_MS = 7 * 86_400_000;

/** The annotations of the Lease of a controller with these settings. */
export function settingsAnnotations({
  takeOverMs,
  promiseMs,
  promiseWords,
}: EvictionSettings): Readonly<Record<string, string>> {
  return { [EVICTION_SETTINGS_ANNOTATION]: JSON.stringify({ takeOverMs, promiseMs, promiseWords }) };
}

function millisecondsOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' && value >= 0 ? Math.min(value, MAX_MS) : otherwise;
}

/** The settings of the controller that wrote the Lease last; the defaults for what it does not say, or cannot be read. */
export function evictionSettingsOf(lease: Lease | undefined): EvictionSettings {
  const text = lease?.metadata.annotations?.[EVICTION_SETTINGS_ANNOTATION] ?? '';
  const { takeOverMs, promiseMs, promiseWords } = parseObject(text, MAX_TEXT) ?? {};
  const words = Array.isArray(promiseWords)
    ? promiseWords.filter((each) => typeof each === 'string' && each !== '')
    : [];
  return {
    takeOverMs: millisecondsOf(takeOverMs, DEFAULT_EVICTION_SETTINGS.takeOverMs),
    promiseMs: millisecondsOf(promiseMs, DEFAULT_EVICTION_SETTINGS.promiseMs),
    promiseWords: words.length === 0 ? DEFAULT_EVICTION_SETTINGS.promiseWords : words,
  };
}
