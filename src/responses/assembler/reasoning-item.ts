import type { ContentPart, Item } from '../../protocol/index.js';
import {
  foldDelta,
  type ItemOptions,
  type ItemStatus,
  OutputItem,
  type PassedItem,
  ProviderContractError,
  restOf,
  type WireEvent,
} from './output-item.js';
import { headOf, ownForm } from './own-form.js';
import type { ReasoningState, TextState } from './state.js';
import { joinHalves, takeHalf } from './whole-characters.js';

/** A part with a text. */
type TextPart = ContentPart & { readonly text: string };

/** A reasoning item: summary parts, raw reasoning text, and the encrypted form for stateless clients. */
export class ReasoningItem extends OutputItem<ReasoningState> {
  private summaryPrefix: string | null = null;
  private textPrefix: string | null = null;

  /** Opens an empty reasoning item, as an upstream sends it if there is one. */
  static begin({ events, ids, outputIndex, key }: ItemOptions, passed?: PassedItem): ReasoningItem {
    const head = passed === undefined ? null : headOf(passed.item, 'reasoning');
    const item = new ReasoningItem(events, outputIndex, emptyReasoning(passed?.id ?? ids.next('rs'), key, head));
    item.announce();
    return item;
  }

  /** Appends to the summary. Throws ProviderContractError for a part out of order. */
  summary(delta: string, part: number | undefined): void {
    const { summaries } = this.state;
    if (part !== undefined && part !== summaries.length) {
      requireNext(part, summaries.length, this.state.summary);
      this.closeSummary();
    }
    this.state.summary ??= this.beginSummary();
    this.appendSummary(this.state.summary, joinHalves(this.state.summary, delta));
    this.noteHalf(this.state.summary, true);
  }

  private appendSummary(summary: TextState, delta: string): void {
    if (delta === '') return;
    summary.text += delta;
    this.summaryPrefix ??= `${this.summaryPosition},"delta":`;
    this.events.writeDelta('response.reasoning_summary_text.delta', this.summaryPrefix, delta);
  }

  /** Appends to the raw reasoning. Throws ProviderContractError for a part out of order. */
  text(delta: string, part: number | undefined): void {
    const { content } = this.state;
    if (part !== undefined && part !== content.length) {
      requireNext(part, content.length, this.state.text);
      this.closeText();
    }
    this.state.text ??= this.beginText();
    this.appendText(this.state.text, joinHalves(this.state.text, delta));
    this.noteHalf(this.state.text);
  }

  private appendText(text: TextState, delta: string): void {
    if (delta === '') return;
    text.text += delta;
    this.textPrefix ??= `${this.textPosition},"delta":`;
    this.events.writeDelta('response.reasoning_text.delta', this.textPrefix, delta);
  }

  /** Sets the encrypted form, which clients see in the finished item. */
  encrypt(content: string): void {
    this.state.encrypted = content;
    this.events.state.characters += content.length;
    this.events.note({ type: 'encrypted', outputIndex: this.outputIndex, content });
  }

  protected override finish(status: ItemStatus): Item {
    this.closeSummary();
    this.closeText();
    return ownForm(this.state, status);
  }

  protected override finishAs(final: Item): Item {
    const { state } = this;
    for (const part of textsOf(final['summary'], 'summary_text', state.summaries.length)) this.completeSummary(part);
    this.closeSummary();
    for (const part of textsOf(final['content'], 'reasoning_text', state.content.length)) this.completeText(part);
    this.closeText();
    const { summary, encrypted_content: encrypted = state.encrypted } = final;
    return {
      ...final,
      summary: Array.isArray(summary) ? summary : [],
      ...(encrypted === null ? {} : { encrypted_content: encrypted }),
    };
  }

  protected override get type(): string {
    return 'reasoning';
  }

  protected override atStart(): Item {
    return { ...ownForm(this.state, 'in_progress'), ...this.state.head };
  }

  private completeSummary(part: TextPart): void {
    const open = (this.state.summary ??= this.beginSummary());
    open.half = undefined;
    const rest = open.isDone ? '' : restOf(open.text, part.text);
    if (rest !== '') this.summary(rest, undefined);
    open.text = part.text;
    this.closeSummary(part);
  }

  private completeText(part: TextPart): void {
    const open = (this.state.text ??= this.beginText());
    open.half = undefined;
    const rest = open.isDone ? '' : restOf(open.text, part.text);
    if (rest !== '') this.text(rest, undefined);
    open.text = part.text;
    this.closeText(part);
  }

  private beginSummary(): TextState {
    this.summaryPrefix = null;
    this.events.write(
      'response.reasoning_summary_part.added',
      `${this.summaryPosition},"part":${JSON.stringify({ type: 'summary_text', text: '' })}`,
    );
    return { text: '', isDone: false };
  }

  private closeSummary(final?: TextPart): void {
    const { summary, summaries } = this.state;
    if (summary === null) return;
    this.appendSummary(summary, takeHalf(summary));
    const position = this.summaryPosition;
    const part = final ?? { type: 'summary_text', text: summary.text };
    this.state.summary = null;
    summaries.push(part);
    this.closePart('response.reasoning_summary', position, part, summary.isDone);
  }

  private beginText(): TextState {
    this.textPrefix = null;
    this.events.write(
      'response.content_part.added',
      `${this.textPosition},"part":${JSON.stringify({ type: 'reasoning_text', text: '' })}`,
    );
    return { text: '', isDone: false };
  }

  private closeText(final?: TextPart): void {
    const { text, content } = this.state;
    if (text === null) return;
    this.appendText(text, takeHalf(text));
    const position = this.textPosition;
    const part = final ?? { type: 'reasoning_text', text: text.text };
    this.state.text = null;
    content.push(part);
    this.closePart('response.reasoning', position, part, text.isDone);
  }

  private closePart(family: string, position: string, part: TextPart, isTextDone: boolean): void {
    if (this.events.isSilent) return;
    const partDone = family === 'response.reasoning' ? 'response.content_part.done' : `${family}_part.done`;
    if (!isTextDone) this.events.write(`${family}_text.done`, `${position},"text":${JSON.stringify(part.text)}`);
    this.events.write(partDone, `${position},"part":${JSON.stringify(part)}`);
  }

  private get summaryPosition(): string {
    return `${this.position},"summary_index":${this.state.summaries.length}`;
  }

  private get textPosition(): string {
    return `${this.position},"content_index":${this.state.content.length}`;
  }
}

/** The state of an empty reasoning item. */
export function emptyReasoning(id: string, key: string | null, head: ReasoningState['head']): ReasoningState {
  return { kind: 'reasoning', id, key, head, summaries: [], summary: null, content: [], text: null, encrypted: null };
}

/** Applies an event to a reasoning item; returns its characters of output. */
export function foldReasoning(item: ReasoningState, event: WireEvent): number {
  switch (event.type) {
    case 'response.reasoning_summary_part.added':
      item.summary = { text: '', isDone: false };
      return 0;
    case 'response.reasoning_summary_part.done':
      item.summaries.push(event.part as ContentPart);
      item.summary = null;
      return 0;
    case 'response.content_part.added':
      item.text = { text: '', isDone: false };
      return 0;
    case 'response.content_part.done':
      item.content.push(event.part as ContentPart);
      item.text = null;
      return 0;
    case 'response.reasoning_summary_text.delta':
      return foldDelta(item.summary, event);
    case 'response.reasoning_text.delta':
      return foldDelta(item.text, event);
    default: {
      const text = event.type === 'response.reasoning_text.done' ? item.text : item.summary;
      if (text === null) return 0;
      text.isDone = true;
      if (text.half !== undefined) text.half = undefined;
      text.text = event['text'] as string;
      return 0;
    }
  }
}

/** The parts from an index on that events can show: SDKs expect one type, and none is left out between two others. */
function textsOf(list: unknown, type: string, from: number): readonly TextPart[] {
  const parts: readonly unknown[] = Array.isArray(list) ? list : [];
  const end = parts.findIndex((part) => !isTextPart(part, type));
  return parts.slice(from, end === -1 ? parts.length : end) as readonly TextPart[];
}

function isTextPart(part: unknown, type: string): boolean {
  const { type: partType, text } = (part ?? {}) as Readonly<Record<string, unknown>>;
  return partType === type && typeof text === 'string';
}

function requireNext(part: number, current: number, open: TextState | null): void {
  if (part === current + 1 && open !== null) return;
  throw new ProviderContractError(`reasoning part ${part} does not follow part ${current}`);
}
