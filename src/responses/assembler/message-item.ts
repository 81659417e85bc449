import type { Annotation, ContentPart, Item, Logprob } from '../../protocol/index.js';
import { type ItemSeat, type ItemStatus, OutputItem, ProviderContractError } from './output-item.js';

type PartKind = 'output_text' | 'refusal';

/** A content part while it grows. */
interface OpenPart {
  readonly kind: PartKind;
  readonly deltaType: string;
  /** Everything of a delta event up to the delta's value. */
  readonly deltaPrefix: string;
  readonly position: string;
  readonly annotations: Annotation[];
  readonly logprobs: Logprob[];
  text: string;
}

/** An assistant message: text and refusal parts, one after another. */
export class MessageItem extends OutputItem {
  private readonly content: ContentPart[] = [];
  private part: OpenPart | null = null;

  constructor(seat: ItemSeat) {
    super(seat, 'msg');
    this.announce(this.toItem('in_progress'));
  }

  text(delta: string, logprobs?: readonly Logprob[]): void {
    if (logprobs !== undefined) requireList(logprobs);
    const part = this.open('output_text');
    part.text += delta;
    if (logprobs === undefined || logprobs.length === 0) {
      this.events.writeDelta(part.deltaType, part.deltaPrefix, delta);
    } else {
      part.logprobs.push(...logprobs);
      const prefix = `${part.position},"logprobs":${JSON.stringify(logprobs)},"delta":`;
      this.events.writeDelta(part.deltaType, prefix, delta);
    }
  }

  refusal(delta: string): void {
    const part = this.open('refusal');
    part.text += delta;
    this.events.writeDelta(part.deltaType, part.deltaPrefix, delta);
  }

  annotate(annotation: Annotation): void {
    if (!isObject(annotation)) throw new ProviderContractError('an annotation must be an object');
    const part = this.open('output_text');
    const index = part.annotations.push(annotation) - 1;
    this.events.write(
      'response.output_text.annotation.added',
      `${part.position},"annotation_index":${index},"annotation":${JSON.stringify(annotation)}`,
    );
  }

  protected override finish(status: ItemStatus): Item {
    this.closePart();
    return this.toItem(status);
  }

  private toItem(status: ItemStatus | 'in_progress'): Item {
    return { id: this.id, type: 'message', status, role: 'assistant', content: this.content };
  }

  private open(kind: PartKind): OpenPart {
    if (this.part?.kind === kind) return this.part;
    this.closePart();
    const position = `${this.position},"content_index":${this.content.length}`;
    this.part = {
      kind,
      deltaType: kind === 'output_text' ? 'response.output_text.delta' : 'response.refusal.delta',
      deltaPrefix: kind === 'output_text' ? `${position},"logprobs":[],"delta":` : `${position},"delta":`,
      position,
      annotations: [],
      logprobs: [],
      text: '',
    };
    this.events.write('response.content_part.added', `${position},"part":${JSON.stringify(toContentPart(this.part))}`);
    return this.part;
  }

  private closePart(): void {
    const part = this.part;
    if (part === null) return;
    this.part = null;
    const finished = toContentPart(part);
    this.content.push(finished);
    const text = JSON.stringify(part.text);
    if (part.kind === 'output_text') {
      const logprobs = JSON.stringify(part.logprobs);
      this.events.write('response.output_text.done', `${part.position},"text":${text},"logprobs":${logprobs}`);
    } else {
      this.events.write('response.refusal.done', `${part.position},"refusal":${text}`);
    }
    this.events.write('response.content_part.done', `${part.position},"part":${JSON.stringify(finished)}`);
  }
}

function toContentPart(part: OpenPart): ContentPart {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text };
  return { type: 'output_text', text: part.text, annotations: part.annotations, logprobs: part.logprobs };
}

function requireList(logprobs: unknown): void {
  if (!Array.isArray(logprobs)) throw new ProviderContractError('logprobs must be a list');
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
