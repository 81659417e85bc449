import type { ForeignItem } from '../../../protocol/index.js';

/** The types of message parts that can be streamed. */
export type PartType = 'output_text' | 'refusal';

/** An output item of an upstream, open or closed. */
export class UpstreamItem {
  isOpen = true;
  /** The item in its final form; null until it is known. */
  final: ForeignItem | null = null;
  /** The parts that have begun: of a message, and of a reasoning summary. */
  private parts = 0;
  private partType: PartType | null = null;
  private summaries = 0;
  private annotations = 0;

  constructor(
    /** Names the item in ModelEvents. */
    readonly key: string,
    private readonly head: ForeignItem,
  ) {}

  get type(): string {
    return this.head.type;
  }

  get id(): unknown {
    return this.head.id;
  }

  /** Whether an item can be the final form of this one (protocol §4, order rule 5). */
  fits(item: ForeignItem): boolean {
    const { head } = this;
    return item.type === head.type && item.call_id === head.call_id && item.name === head.name;
  }

  /**
   * Whether the part of a `content_index` takes text now; begins it if it is the next one. ModelEvents tell parts
   * apart by their type, so the second of two parts of a type waits for the final form, and so do those after it.
   */
  takesPart(index: unknown, type: PartType): boolean {
    const isCurrent = type === this.partType;
    if (index === this.parts - 1 || (index === undefined && isCurrent)) return isCurrent;
    if (isCurrent || (index !== undefined && index !== this.parts)) return false;
    this.parts += 1;
    this.partType = type;
    return true;
  }

  /** Whether an annotation is the next one of a part that takes it; counts it. */
  takesAnnotation(part: unknown, index: unknown): boolean {
    const isCurrent = this.partType === 'output_text' && (part === undefined || part === this.parts - 1);
    const next = isCurrent ? this.annotations : 0;
    if ((index !== undefined && index !== next) || !this.takesPart(part, 'output_text')) return false;
    this.annotations = next + 1;
    return true;
  }

  /** The summary part that takes text now; begins it if it is the next one. Null if it is neither the current one nor the next. */
  summaryPart(index: unknown): number | null {
    const current = this.summaries - 1;
    if (index === this.summaries || (index === undefined && current < 0)) return this.summaries++;
    return current >= 0 && (index === undefined || index === current) ? current : null;
  }
}
