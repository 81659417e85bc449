import type { ContentPart, Item } from '../../protocol/index.js';
import {
  foldDelta,
  type ItemOptions,
  type ItemStatus,
  OutputItem,
  ProviderContractError,
  type WireEvent,
} from './output-item.js';
import type { ReasoningState, TextState } from './state.js';

/** A reasoning item: summary parts, raw reasoning text, and the encrypted form for stateless clients. */
export class ReasoningItem extends OutputItem<ReasoningState> {
  private summaryPrefix: string | null = null;
  private textPrefix: string | null = null;

  /** Opens an empty reasoning item. */
  static begin({ events, ids, outputIndex, key }: ItemOptions): ReasoningItem {
    const item = new ReasoningItem(events, outputIndex, emptyReasoning(ids.next('rs'), key));
    item.announce();
    return item;
  }

  /** Appends to the summary. */
  summary(delta: string, part: number | undefined): void {
    const { summaries } = this.state;
    if (part !== undefined && part !== summaries.length) {
      if (part !== summaries.length + 1 || this.state.summary === null) {
        throw new ProviderContractError(`reasoning summary part ${part} does not follow part ${summaries.length}`);
      }
      this.closeSummary();
    }
    this.state.summary ??= this.beginSummary();
    this.state.summary.text += delta;
    this.summaryPrefix ??= `${this.summaryPosition},"delta":`;
    this.events.writeDelta('response.reasoning_summary_text.delta', this.summaryPrefix, delta);
  }

  /** Appends to the raw reasoning. */
  text(delta: string): void {
    this.state.text ??= this.beginText();
    this.state.text.text += delta;
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
    const { id, summaries, content, encrypted } = this.state;
    return {
      id,
      type: 'reasoning',
      status,
      summary: summaries,
      ...(content === null ? {} : { content: [content] }),
      ...(encrypted === null ? {} : { encrypted_content: encrypted }),
    };
  }

  protected override atStart(): Item {
    return { id: this.state.id, type: 'reasoning', status: 'in_progress', summary: [] };
  }

  private beginSummary(): TextState {
    this.summaryPrefix = null;
    this.events.write(
      'response.reasoning_summary_part.added',
      `${this.summaryPosition},"part":${JSON.stringify({ type: 'summary_text', text: '' })}`,
    );
    return { text: '', isDone: false };
  }

  private closeSummary(): void {
    const { summary, summaries } = this.state;
    if (summary === null) return;
    const position = this.summaryPosition;
    const part = { type: 'summary_text', text: summary.text };
    this.state.summary = null;
    summaries.push(part);
    this.closePart('response.reasoning_summary', position, part, summary.isDone);
  }

  private beginText(): TextState {
    this.events.write(
      'response.content_part.added',
      `${this.textPosition},"part":${JSON.stringify({ type: 'reasoning_text', text: '' })}`,
    );
    return { text: '', isDone: false };
  }

  private closeText(): void {
    const { text } = this.state;
    if (text === null) return;
    const part = { type: 'reasoning_text', text: text.text };
    this.state.text = null;
    this.state.content = part;
    this.closePart('response.reasoning', this.textPosition, part, text.isDone);
  }

  private closePart(family: string, position: string, part: { readonly text: string }, isTextDone: boolean): void {
    if (this.events.isSilent) return;
    const partDone = family === 'response.reasoning' ? 'response.content_part.done' : `${family}_part.done`;
    if (!isTextDone) this.events.write(`${family}_text.done`, `${position},"text":${JSON.stringify(part.text)}`);
    this.events.write(partDone, `${position},"part":${JSON.stringify(part)}`);
  }

  private get summaryPosition(): string {
    return `${this.position},"summary_index":${this.state.summaries.length}`;
  }

  private get textPosition(): string {
    return `${this.position},"content_index":0`;
  }
}

/** The state of an empty reasoning item. */
export function emptyReasoning(id: string, key: string | null): ReasoningState {
  return { kind: 'reasoning', id, key, summaries: [], summary: null, text: null, content: null, encrypted: null };
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
      item.content = event.part as ContentPart;
      item.text = null;
      return 0;
    case 'response.reasoning_summary_text.delta':
      return foldDelta(item.summary, event);
    case 'response.reasoning_text.delta':
      return foldDelta(item.text, event);
    default: {
      const text = event.type === 'response.reasoning_text.done' ? item.text : item.summary;
      if (text !== null) text.isDone = true;
      return 0;
    }
  }
}
