import type { ContentPart, Item } from '../../protocol/index.js';
import { type ItemSeat, type ItemStatus, OutputItem, ProviderContractError } from './output-item.js';

/** A reasoning item: summary parts, raw reasoning text, and the encrypted form that stateless clients replay. */
export class ReasoningItem extends OutputItem {
  private readonly summaries: ContentPart[] = [];
  private openSummary: { text: string; readonly position: string; readonly deltaPrefix: string } | null = null;
  private openText: { text: string; readonly position: string; readonly deltaPrefix: string } | null = null;
  private encrypted: string | null = null;

  constructor(seat: ItemSeat) {
    super(seat, 'rs');
    this.announce({ id: this.id, type: 'reasoning', status: 'in_progress', summary: [] });
  }

  summary(delta: string, part: number | undefined): void {
    const current = this.summaries.length;
    if (part !== undefined && part !== current) {
      if (part !== current + 1 || this.openSummary === null) {
        throw new ProviderContractError(`reasoning summary part ${part} does not follow part ${current}`);
      }
      this.closeSummary();
    }
    this.openSummary ??= this.beginSummary();
    this.openSummary.text += delta;
    this.events.writeDelta('response.reasoning_summary_text.delta', this.openSummary.deltaPrefix, delta);
  }

  text(delta: string): void {
    this.openText ??= this.beginText();
    this.openText.text += delta;
    this.events.writeDelta('response.reasoning_text.delta', this.openText.deltaPrefix, delta);
  }

  encrypt(content: string): void {
    this.encrypted = content;
  }

  protected override finish(status: ItemStatus): Item {
    this.closeSummary();
    const content = this.closeText();
    return {
      id: this.id,
      type: 'reasoning',
      status,
      summary: this.summaries,
      ...(content === null ? {} : { content: [content] }),
      ...(this.encrypted === null ? {} : { encrypted_content: this.encrypted }),
    };
  }

  private beginSummary(): NonNullable<typeof this.openSummary> {
    const position = `${this.position},"summary_index":${this.summaries.length}`;
    this.events.write(
      'response.reasoning_summary_part.added',
      `${position},"part":${JSON.stringify({ type: 'summary_text', text: '' })}`,
    );
    return { text: '', position, deltaPrefix: `${position},"delta":` };
  }

  private closeSummary(): void {
    if (this.openSummary === null) return;
    const { text, position } = this.openSummary;
    const part = { type: 'summary_text', text };
    this.openSummary = null;
    this.summaries.push(part);
    this.events.write('response.reasoning_summary_text.done', `${position},"text":${JSON.stringify(text)}`);
    this.events.write('response.reasoning_summary_part.done', `${position},"part":${JSON.stringify(part)}`);
  }

  private beginText(): NonNullable<typeof this.openText> {
    const position = `${this.position},"content_index":0`;
    this.events.write(
      'response.content_part.added',
      `${position},"part":${JSON.stringify({ type: 'reasoning_text', text: '' })}`,
    );
    return { text: '', position, deltaPrefix: `${position},"delta":` };
  }

  private closeText(): ContentPart | null {
    if (this.openText === null) return null;
    const { text, position } = this.openText;
    const part = { type: 'reasoning_text', text };
    this.openText = null;
    this.events.write('response.reasoning_text.done', `${position},"text":${JSON.stringify(text)}`);
    this.events.write('response.content_part.done', `${position},"part":${JSON.stringify(part)}`);
    return part;
  }
}
