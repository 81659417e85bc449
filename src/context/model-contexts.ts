import { Injectable } from '@nestjs/common';

import type { Tenant } from '../access/index.js';
import { ApiError, isCompaction, type Item, withoutEarlierReasoning } from '../protocol/index.js';
import { type KeyRing, Seals } from './seals/index.js';
import { isPromise, type MaybePromise } from '../time/index.js';
import { hasOwnSeal } from './marks.js';
import { isOpened, openItem, openItems, openOwn, type Reader } from './open-items.js';
import type { Transcript } from './transcript.js';

/** For whom a context is, and what it is part of. */
export interface Viewer {
  readonly tenant: Tenant;
  /** Whether the provider opens the seals of other services, and decides about earlier reasoning itself. */
  readonly readsForeignSeals: boolean;
  /** Whether the provider takes opaque data. */
  readonly takesOpaqueData: boolean;
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
 * the service has sealed gets its text and its opaque data back. A transcript without such items costs nothing.
 */
@Injectable()
export class ModelContexts {
  constructor(private readonly seals: Seals) {}

  /**
   * What a model sees of a transcript that ends with `input`. Throws ApiError 400 `invalid_encrypted_content` for a compaction that
   * cannot be opened, and that no upstream may open, and for outputs and calls that do not belong to those in the one that was opened; rejects with StoreUnavailableError when the keys cannot be read.
   */
  open(transcript: Transcript, input: readonly Item[], viewer: Viewer): MaybePromise<ModelContext> {
    const ring = transcript.marks.hasOwnSeal ? this.seals.ringFor(unopenedSeals(transcript)) : null;
    if (isPromise(ring)) return ring.then((known) => toContext(transcript, input, viewer, known));
    return toContext(transcript, input, viewer, ring);
  }
}

function toContext(transcript: Transcript, input: readonly Item[], viewer: Viewer, ring: KeyRing | null): ModelContext {
  const { marks, opened, size } = transcript;
  const { tenant, readsForeignSeals, takesOpaqueData, keepsTriggers } = viewer;
  const reader: Reader = { tenant, ring, opened, readsForeignSeals, takesOpaqueData, keepsTriggers };
  const before = size - input.length;
  const from = marks.compaction === -1 ? 0 : startAt(transcript, reader, { history: viewer.history, before });
  const forgets = viewer.reasoning === 'current_turn' && !readsForeignSeals;
  const toVisible = (items: readonly Item[]): readonly Item[] => (forgets ? withoutEarlierReasoning(items) : items);
  const isFresh = from > 0 && from >= before;
  const newItems = marks.any
    ? input.slice(Math.max(from - before, 0)).flatMap((item) => openItem(item, reader))
    : input;
  const open = (): readonly Item[] => {
    if (!marks.any) return toVisible(transcript.items);
    return toVisible(openItems(transcript.itemsFrom(from), reader));
  };
  return new LazyContext(newItems, isFresh, open, marks.any);
}

/** A class, because V8 makes each object with an accessor of its own a hidden class, which keeps the turn until a full collection. */
class LazyContext implements ModelContext {
  private opened: readonly Item[] | undefined;

  constructor(
    readonly input: readonly Item[],
    readonly isFresh: boolean,
    private readonly open: () => readonly Item[],
    private readonly isKept: boolean,
  ) {}

  get items(): readonly Item[] {
    if (!this.isKept) return this.open();
    return (this.opened ??= this.open());
  }
}

/** The seals of our form that were not opened yet. */
function* unopenedSeals(transcript: Transcript): Generator<string> {
  for (let position = 0; position < transcript.size; position += 1) {
    const item = transcript.at(position);
    if (item !== undefined && hasOwnSeal(item) && !transcript.opened.has(item)) yield item.encrypted_content as string;
  }
}

/**
 * Where the context begins: at the last compaction that opens, or at the beginning if only an upstream can open those that there are.
 * One that this service has sealed is not for upstreams: if it does not open, it was altered.
 */
function startAt(
  transcript: Transcript,
  reader: Reader,
  { history, before }: { readonly history: Viewer['history']; readonly before: number },
): number {
  for (let position = transcript.marks.compaction; position >= 0; position -= 1) {
    const item = transcript.at(position);
    if (item === undefined || !isCompaction(item)) continue;
    const opened = openOwn(item, reader);
    if (isOpened(opened)) {
      // A call that waited for its output is only in the seal.
      transcript.requirePairs(position, opened);
      return position;
    }
    if (opened === 'altered' || !reader.readsForeignSeals) throw unopened(item, position - before, history);
  }
  return 0;
}

/** The error for a compaction item; `index` is its place in the input, negative for an earlier one. */
function unopened({ id }: Item, index: number, history: Viewer['history']): ApiError {
  const why = 'it was altered, or another service, another account or a key that is no longer known has sealed it';
  const earlier =
    history === 'conversation'
      ? 'Delete it from the conversation, or begin anew'
      : 'Begin anew, with the items that are still needed as input';
  return ApiError.of(
    'invalid_encrypted_content',
    index >= 0
      ? `The compaction item '${id}' cannot be opened: ${why}. Send the items that it stands for instead, and compact them again.`
      : `The earlier context has a compaction item '${id}' that cannot be opened: ${why}. ${earlier}.`,
    { param: index >= 0 ? `input[${index}].encrypted_content` : history },
  );
}
