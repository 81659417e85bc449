import type { Item } from '../../protocol/index.js';
import { digestTranscript } from './transcript-digest.js';

/** Where a conversation has come to, in ways that survive more or less of what differs between two runs. */
export interface TranscriptPlace {
  /** Digest of everything that was said. */
  readonly conversation: string;
  /** Digest of what the user said: tools may answer otherwise in another run. */
  readonly user: string;
  /** Answers of the model so far. */
  readonly answers: number;
}

/** The place that a turn with this context answers at. */
export function placeOf(context: readonly Item[]): TranscriptPlace {
  return {
    conversation: digestTranscript(context),
    user: digestTranscript(context.filter(isUserMessage)),
    answers: countAnswers(context),
  };
}

/** Whether the user said it. */
export function isUserMessage(item: Item): boolean {
  return item.type === 'message' && item.role === 'user';
}

/** How often a model has spoken: its messages, thoughts and calls in a row are one answer. */
export function countAnswers(items: readonly Item[]): number {
  return countRuns(items, isModelItem);
}

/** How many times in a row items of a kind come, others between them. */
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

function isModelItem(item: Item): boolean {
  if (item.type === 'message') return item.role === 'assistant';
  return item.type === 'reasoning' || item.type.endsWith('_call');
}
