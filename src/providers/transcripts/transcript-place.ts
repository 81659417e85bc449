import type { Item } from '../../protocol/index.js';
import { digestTranscript } from './transcript-digest.js';

/** Identifies the position of a turn in a transcript, at three levels of precision. */
export interface TranscriptPlace {
  /** Digest of the whole transcript. */
  readonly conversation: string;
  /** Digest of the user messages; it does not depend on tool outputs. */
  readonly user: string;
  /** Number of answers so far. */
  readonly answers: number;
}

/** The position of a turn with this context. */
export function placeOf(context: readonly Item[]): TranscriptPlace {
  return {
    conversation: digestTranscript(context),
    user: digestTranscript(context.filter(isUserMessage)),
    answers: countAnswers(context),
  };
}

/** Whether an item is a message of the user. */
export function isUserMessage(item: Item): boolean {
  return item.type === 'message' && item.role === 'user';
}

/** Counts answers: consecutive messages, reasoning and calls of the model are one answer. */
export function countAnswers(items: readonly Item[]): number {
  return countRuns(items, isModelItem);
}

/** Counts runs of consecutive items of a kind. */
export function countRuns(items: readonly Item[], isOfKind: (item: Item) => boolean): number {
  let runs = 0;
  let inside = false;
  for (const item of items) {
    const before = inside;
    inside = isOfKind(item);
    if (inside && !before) runs += 1;
  }
  return runs;
}

/** Whether an item is the output of a model. */
export function isModelItem(item: Item): boolean {
  if (item.type === 'message') return item.role === 'assistant';
  return item.type === 'reasoning' || item.type.endsWith('_call');
}
