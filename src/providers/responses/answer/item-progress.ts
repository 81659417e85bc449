import type { ForeignItem } from '../../../protocol/index.js';

/** The types of message parts that can be streamed. */
export type PartType = 'output_text' | 'refusal';

/** The part that takes text. Parts come one after another: the gaps that some servers leave between their indexes are closed. */
class PartCursor {
  current = -1;
  /** The index of the current part at the upstream. */
  index = -1;

  /** Moves to a part, which must be the current one or behind it; without an index, the current one. Null for any other. */
  moveTo(index: unknown): number | null {
    const wanted = index ?? Math.max(0, this.index);
    if (!isIndex(wanted) || wanted < this.index) return null;
    if (wanted === this.index) return this.current;
    this.index = wanted;
    this.current += 1;
    return this.current;
  }
}

/** Whether a value can be the index of an item or a part. */
export function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** An output item of an upstream, open or closed. */
export class ItemProgress {
  isOpen = true;
  /** The item in its final form; null until it is known. */
  final: ForeignItem | null = null;
  /** What has come of a call's payload. */
  payload = '';
  /** Whether its texts come as wholes, without deltas. */
  private isWhole = false;
  private readonly content = new PartCursor();
  private readonly summary = new PartCursor();
  /** Parts with their texts that were only announced so far. */
  private readonly announced: Record<'content' | 'summary', object[]> = { content: [], summary: [] };
  /** The type of the current part of a message. */
  private partType: PartType | null = null;
  /** Annotations of the current part. */
  private annotations = 0;

  constructor(
    /** Names the item in ModelEvents. */
    readonly key: string,
    readonly head: ForeignItem,
  ) {}

  get type(): string {
    return this.head.type;
  }

  get id(): unknown {
    return this.head.id;
  }

  /** Whether something of a call's payload has come. */
  get hasPayload(): boolean {
    return this.payload !== '';
  }

  /** Whether no text and no payload of it was written. */
  get isSilent(): boolean {
    return this.content.current < 0 && !this.hasPayload;
  }

  /** Notes a part that is announced with its text, in case that nothing else has it. */
  announce(kind: 'content' | 'summary', part: object): void {
    this.announced[kind].push(part);
  }

  /** A form of the item, with the parts that were announced and nothing else has. */
  withAnnounced(form: ForeignItem): ForeignItem {
    const kinds = (['content', 'summary'] as const).filter(
      (kind) => this[kind].current < 0 && this.announced[kind].length > 0 && isEmpty(form[kind]),
    );
    return kinds.length === 0
      ? form
      : { ...form, ...Object.fromEntries(kinds.map((kind) => [kind, this.announced[kind]])) };
  }

  /**
   * Whether a part takes a text as a whole, as one does that had no deltas. Once an item had deltas its other parts do not: some servers number
   * the ends of texts in another way than their deltas.
   */
  takesWhole(kind: 'content' | 'summary', index: unknown): boolean {
    const cursor = this[kind];
    const isNext = this.isWhole && isIndex(index) && index > cursor.index;
    if (cursor.current >= 0 && !isNext) return false;
    this.isWhole = true;
    return true;
  }

  /** Whether an item can be the final form of this one (protocol §4, order rule 5). */
  fits(item: ForeignItem): boolean {
    const { head } = this;
    return item.type === head.type && item.call_id === head.call_id && item.name === head.name;
  }

  /** The part of a message that takes text of a type at a `content_index`; null if none does. */
  messagePart(index: unknown, type: PartType): number | null {
    const { content } = this;
    const isSameType = type === this.partType;
    const wanted = index ?? (isSameType ? content.index : content.index + 1);
    if (wanted === content.index && !isSameType) return null;
    const before = content.current;
    const part = content.moveTo(wanted);
    if (content.current !== before) {
      this.partType = type;
      this.annotations = 0;
    }
    return part;
  }

  /** Whether the current part of a message takes an annotation as its next one, or a new part as its first. Counts it. */
  takesAnnotation(part: unknown, index: unknown): boolean {
    const isText = this.partType === 'output_text';
    const isCurrent = isText && (part ?? this.content.index) === this.content.index;
    // ModelEvents of annotations name no part: behind a text, only a text can begin another one.
    if (isText && !isCurrent) return false;
    const next = isCurrent ? this.annotations : 0;
    if ((index ?? next) !== next || this.messagePart(part, 'output_text') === null) return false;
    this.annotations = next + 1;
    return true;
  }

  /** The part of raw reasoning that takes text at a `content_index`; null if none does. */
  reasoningPart(index: unknown): number | null {
    return this.content.moveTo(index);
  }

  /** The summary part that takes text at a `summary_index`; null if none does. */
  summaryPart(index: unknown): number | null {
    return this.summary.moveTo(index);
  }
}

function isEmpty(parts: unknown): boolean {
  return parts == null || (Array.isArray(parts) && parts.length === 0);
}
