import { Injectable } from '@nestjs/common';

import type { Tenant } from '../access/index.js';
import { ApiError, type Item, withoutEarlierReasoning } from '../protocol/index.js';
import { type KeyRing, Seals } from '../seals/index.js';
import { isPromise, type MaybePromise } from '../time/index.js';
import { openItem, openItems, openOwn, type Reader } from './open-items.js';
import type { Transcript } from './transcript.js';

/** For whom a context is, and what it is part of. */
export interface Viewer {
  readonly tenant: Tenant;
  /** Whether the provider opens compactions of other services, and decides about earlier reasoning itself. */
  readonly readsForeignSeals: boolean;
  /** Whether its upstream compacts: triggers of a compaction reach it. */
  readonly keepsTriggers: boolean;
  /** `reasoning.context` of the request (protocol §2). */
  readonly reasoning: string | null | undefined;
  /** The parameter that names the earlier items. */
  readonly history: 'conversation' | 'previous_response_id';
}

/** What a model sees of a transcript. */
export interface ModelContext {
  /** The whole context. Built on access. */
  readonly items: readonly Item[];
  /** The new items of the transcript. */
  readonly input: readonly Item[];
  /** Whether the new items replace all before them. */
  readonly isFresh: boolean;
}

/**
 * Opens transcripts for models: the items in the seal of a compaction stand for everything before it (protocol §9), and reasoning that
 * the service has sealed gets its text back. A transcript without such items costs nothing.
 */
@Injectable()
export class ModelContexts {
  constructor(private readonly seals: Seals) {}

  /**
   * What a model sees of a transcript that ends with `input`. Throws ApiError 400 `invalid_encrypted_content` for a compaction that
   * cannot be opened; rejects with StoreUnavailableError when the keys cannot be read.
   */
  open(transcript: Transcript, input: readonly Item[], viewer: Viewer): MaybePromise<ModelContext> {
    const ring = transcript.marks.hasOwnSeal ? this.seals.ring() : null;
    if (isPromise(ring)) return ring.then((known) => toContext(transcript, input, viewer, known));
    return toContext(transcript, input, viewer, ring);
  }
}

function toContext(transcript: Transcript, input: readonly Item[], viewer: Viewer, ring: KeyRing | null): ModelContext {
  const { marks, opened, size } = transcript;
  const { tenant, readsForeignSeals, keepsTriggers } = viewer;
  const reader: Reader = { tenant, ring, opened, keepsTriggers };
  const before = size - input.length;
  const from = marks.compaction === -1 ? 0 : startAt(marks.compaction, transcript, reader, { viewer, before });
  const forgets = viewer.reasoning === 'current_turn' && !readsForeignSeals;
  const toVisible = (items: readonly Item[]): readonly Item[] => (forgets ? withoutEarlierReasoning(items) : items);
  const isFresh = from > 0 && from >= before;
  let items: readonly Item[] | undefined;
  return {
    get items() {
      if (!marks.any) return toVisible(transcript.items);
      return (items ??= toVisible(openItems(transcript.itemsFrom(from), reader)));
    },
    input: marks.any ? input.slice(Math.max(from - before, 0)).flatMap((item) => openItem(item, reader)) : input,
    isFresh,
  };
}

/** Where the context begins: at the last compaction, or before it if only an upstream can open it. */
function startAt(
  position: number,
  transcript: Transcript,
  reader: Reader,
  { viewer, before }: { readonly viewer: Viewer; readonly before: number },
): number {
  const item = transcript.at(position);
  if (item !== undefined && openOwn(item, reader) !== null) return position;
  if (viewer.readsForeignSeals) return 0;
  const why = 'it was altered, or another service, another account or a key that is no longer known has sealed it';
  const isNew = position >= before;
  throw ApiError.of(
    'invalid_encrypted_content',
    isNew
      ? `The compaction item cannot be opened: ${why}. Send the items that it stands for instead, and compact them again.`
      : `The earlier context has a compaction item that cannot be opened: ${why}. Begin anew, with the items that are still needed as input.`,
    { param: isNew ? `input[${position - before}].encrypted_content` : viewer.history },
  );
}
