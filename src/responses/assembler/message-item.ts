import type { Annotation, ContentPart, Item, Logprob } from '../../protocol/index.js';
import {
  foldDelta,
  type ItemOptions,
  type ItemStatus,
  OutputItem,
  ProviderContractError,
  type WireEvent,
} from './output-item.js';
import type { MessageState, PartState } from './state.js';

const DELTA_OF_PART = {
  output_text: 'response.output_text.delta',
  refusal: 'response.refusal.delta',
} as const;

/** An assistant message: text and refusal parts, one after another. */
export class MessageItem extends OutputItem<MessageState> {
  /** The text of a delta event of the open part up to its value. */
  private deltaPrefix: string | null = null;

  /** Opens a message. */
  static begin({ events, ids, outputIndex, key }: ItemOptions): MessageItem {
    const state: MessageState = { kind: 'message', id: ids.next('msg'), key, content: [], part: null };
    const item = new MessageItem(events, outputIndex, state);
    item.announce();
    return item;
  }

  /** Appends text. */
  text(delta: string, logprobs?: readonly Logprob[]): void {
    if (logprobs !== undefined) requireList(logprobs);
    const part = this.open('output_text');
    part.text += delta;
    if (logprobs === undefined || logprobs.length === 0) {
      this.events.writeDelta(DELTA_OF_PART.output_text, this.prefixOf(part), delta);
      return;
    }
    const json = JSON.stringify(logprobs);
    part.logprobs.push(...logprobs);
    this.events.state.characters += json.length;
    this.events.writeDelta(DELTA_OF_PART.output_text, `${this.partPosition},"logprobs":${json},"delta":`, delta);
  }

  /** Appends to a refusal. */
  refusal(delta: string): void {
    const part = this.open('refusal');
    part.text += delta;
    this.events.writeDelta(DELTA_OF_PART.refusal, this.prefixOf(part), delta);
  }

  /** Adds an annotation of the text. */
  annotate(annotation: Annotation): void {
    if (!isObject(annotation)) throw new ProviderContractError('an annotation must be an object');
    const part = this.open('output_text');
    const json = JSON.stringify(annotation);
    const index = part.annotations.push(annotation) - 1;
    this.events.state.characters += json.length;
    this.events.write(
      'response.output_text.annotation.added',
      `${this.partPosition},"annotation_index":${index},"annotation":${json}`,
    );
  }

  protected override finish(status: ItemStatus): Item {
    this.closePart();
    return this.toItem(status);
  }

  protected override atStart(): Item {
    return this.toItem('in_progress');
  }

  private toItem(status: ItemStatus | 'in_progress'): Item {
    const { id, content } = this.state;
    return { id, type: 'message', status, role: 'assistant', content };
  }

  /** Returns the open part of this type, or closes the current one and opens a new one. */
  private open(type: PartState['type']): PartState {
    const { state, events } = this;
    if (state.part?.type === type && !state.part.isDone) return state.part;
    this.closePart();
    const part: PartState = { type, text: '', isDone: false, annotations: [], logprobs: [] };
    state.part = part;
    this.deltaPrefix = null;
    if (!events.isSilent) {
      const json = JSON.stringify(toContentPart(part));
      events.write('response.content_part.added', `${this.partPosition},"part":${json}`);
    }
    return part;
  }

  private closePart(): void {
    const { state, events } = this;
    const { part } = state;
    if (part === null) return;
    const position = this.partPosition;
    const finished = toContentPart(part);
    if (!events.isSilent && !part.isDone) {
      if (part.type === 'output_text') {
        const logprobs = JSON.stringify(part.logprobs);
        const text = JSON.stringify(part.text);
        events.write('response.output_text.done', `${position},"text":${text},"logprobs":${logprobs}`);
      } else events.write('response.refusal.done', `${position},"refusal":${JSON.stringify(part.text)}`);
    }
    state.part = null;
    state.content.push(finished);
    if (!events.isSilent) events.write('response.content_part.done', `${position},"part":${JSON.stringify(finished)}`);
  }

  private prefixOf({ type }: PartState): string {
    this.deltaPrefix ??= `${this.partPosition}${type === 'output_text' ? ',"logprobs":[]' : ''},"delta":`;
    return this.deltaPrefix;
  }

  private get partPosition(): string {
    return `${this.position},"content_index":${this.state.content.length}`;
  }
}

/** Applies an event to a message; returns its characters of output. */
export function foldMessage(message: MessageState, event: WireEvent): number {
  const { part } = message;
  switch (event.type) {
    case 'response.content_part.added': {
      const { type } = event.part as ContentPart as { readonly type: PartState['type'] };
      message.part = { type, text: '', isDone: false, annotations: [], logprobs: [] };
      return 0;
    }
    case 'response.content_part.done':
      message.content.push(event.part as ContentPart);
      message.part = null;
      return 0;
    case 'response.output_text.annotation.added':
      part?.annotations.push(event.annotation as Annotation);
      return JSON.stringify(event.annotation).length;
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return foldDelta(part, event) + foldLogprobs(part, event);
    default:
      if (part !== null) part.isDone = true;
      return 0;
  }
}

function foldLogprobs(part: PartState | null, event: WireEvent): number {
  const { logprobs = [] } = event as unknown as { readonly logprobs?: readonly Logprob[] };
  part?.logprobs.push(...logprobs);
  return logprobs.length === 0 ? 0 : JSON.stringify(logprobs).length;
}

function toContentPart({ type, text, annotations, logprobs }: PartState): ContentPart {
  if (type === 'refusal') return { type, refusal: text };
  return { type, text, annotations, logprobs };
}

function requireList(logprobs: unknown): void {
  if (!Array.isArray(logprobs)) throw new ProviderContractError('logprobs must be a list');
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
