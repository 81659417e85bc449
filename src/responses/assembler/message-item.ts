import type { Annotation, ContentPart, Item, Logprob } from '../../protocol/index.js';
import { isObject, listIn } from '../../validation/index.js';
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
import { headOf, ownForm, toContentPart } from './own-form.js';
import type { MessageState, PartState } from './state.js';
import { joinHalves, takeHalf, withoutHalves } from './whole-characters.js';

const DELTA_OF_PART = {
  output_text: 'response.output_text.delta',
  refusal: 'response.refusal.delta',
} as const;

/** An assistant message: text and refusal parts, one after another. */
export class MessageItem extends OutputItem<MessageState> {
  /** The text of a delta event of the open part up to its value. */
  private deltaPrefix: string | null = null;

  /** Opens a message, as an upstream sends it if there is one. */
  static begin({ events, ids, outputIndex, key }: ItemOptions, passed?: PassedItem): MessageItem {
    const head = passed === undefined ? null : headOf(passed.item, 'message');
    const item = new MessageItem(events, outputIndex, emptyMessage(passed?.id ?? ids.next('msg'), key, head));
    item.announce();
    return item;
  }

  /** Appends text to the part of an index, or to the current one. Throws ProviderContractError for a part out of order. */
  text(delta: string, logprobs?: readonly Logprob[], index?: number): void {
    if (logprobs !== undefined) requireList(logprobs);
    const part = this.open('output_text', index);
    const whole = joinHalves(part, delta);
    if (logprobs === undefined || logprobs.length === 0) {
      this.append(part, whole);
      this.noteHalf(part);
      return;
    }
    part.text += whole;
    const tokens = withoutHalves(logprobs);
    const json = JSON.stringify(tokens);
    part.logprobs.push(...tokens);
    this.events.state.characters += json.length;
    this.events.writeDelta(DELTA_OF_PART.output_text, `${this.partPosition},"logprobs":${json},"delta":`, whole);
    this.noteHalf(part);
  }

  /** Appends to the refusal of an index, or to the current one. Throws ProviderContractError for a part out of order. */
  refusal(delta: string, index?: number): void {
    const part = this.open('refusal', index);
    this.append(part, joinHalves(part, delta));
    this.noteHalf(part);
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
    return ownForm(this.state, status);
  }

  protected override finishAs(final: Item): Item {
    const { state } = this;
    const content = listIn(final['content']).map(withLists);
    for (let index = state.content.length; index < content.length; index++) {
      const part = content[index];
      if (!isPart(part)) break;
      this.complete(part);
    }
    this.closePart();
    return { ...final, role: final['role'] ?? 'assistant', content };
  }

  protected override get type(): string {
    return 'message';
  }

  protected override atStart(): Item {
    return ownForm(this.state, 'in_progress');
  }

  private append(part: PartState, delta: string): void {
    if (delta === '') return;
    part.text += delta;
    this.events.writeDelta(DELTA_OF_PART[part.type], this.prefixOf(part), delta);
  }

  /** Writes what is missing of the next part, and closes it. A part that was begun as another type ends as it is. */
  private complete(final: ContentPart): void {
    const { state, events } = this;
    if (!isOwnPart(final)) {
      if (state.part === null && state.other === null) {
        events.write('response.content_part.added', `${this.partPosition},"part":${JSON.stringify(final)}`);
        state.other = final;
      }
      this.closePart(state.part === null ? final : undefined);
      return;
    }
    if (state.other === null) state.part ??= this.begin(final.type);
    const { part } = state;
    if (part?.type !== final.type) {
      this.closePart();
      return;
    }
    if (!part.isDone) this.completeText(part, final);
    this.closePart(final);
  }

  private completeText(part: PartState, final: ContentPart): void {
    part.half = undefined;
    if (part.type === 'refusal') {
      const refusal = String(final['refusal']);
      const rest = restOf(part.text, refusal);
      if (rest !== '') this.refusal(rest);
      part.text = refusal;
      return;
    }
    const annotations = final['annotations'] as readonly Annotation[];
    const text = String(final['text']);
    const rest = restOf(part.text, text);
    const logprobs = (final['logprobs'] as readonly Logprob[]).slice(part.logprobs.length);
    if (rest !== '' || logprobs.length > 0) this.text(rest, logprobs);
    part.text = text;
    for (const annotation of annotations.slice(part.annotations.length)) this.annotate(annotation);
  }

  /** Returns the open part of this type, or closes the current one and opens a new one. */
  private open(type: PartState['type'], index?: number): PartState {
    const { part, content } = this.state;
    const isCurrent = index === undefined || index === content.length;
    if (part?.type === type && !part.isDone && isCurrent) return part;
    if (index !== undefined && index !== content.length + (part === null ? 0 : 1)) {
      throw new ProviderContractError(`a ${type} of part ${index} does not follow part ${content.length}`);
    }
    this.closePart();
    return this.begin(type);
  }

  private begin(type: PartState['type']): PartState {
    const { state, events } = this;
    const part = emptyPart(type);
    state.part = part;
    this.deltaPrefix = null;
    if (!events.isSilent) {
      const json = JSON.stringify(toContentPart(part));
      events.write('response.content_part.added', `${this.partPosition},"part":${json}`);
    }
    return part;
  }

  /** Closes the open part, if there is one. `final` is its final form as an upstream sends it. */
  private closePart(final?: ContentPart): void {
    const { state, events } = this;
    const { part, other } = state;
    if (part !== null) this.append(part, takeHalf(part));
    const finished = final ?? other ?? (part === null ? null : toContentPart(part));
    if (finished === null) return;
    const position = this.partPosition;
    if (part !== null && !events.isSilent && !part.isDone) this.writeTextDone(part, position, finished['logprobs']);
    state.part = null;
    state.other = null;
    state.content.push(finished);
    if (!events.isSilent) events.write('response.content_part.done', `${position},"part":${JSON.stringify(finished)}`);
  }

  private writeTextDone({ type, text }: PartState, position: string, logprobs: unknown): void {
    const json = JSON.stringify(text);
    if (type === 'refusal') this.events.write('response.refusal.done', `${position},"refusal":${json}`);
    else {
      const members = `,"text":${json},"logprobs":${JSON.stringify(logprobs)}`;
      this.events.write('response.output_text.done', position + members);
    }
  }

  private prefixOf({ type }: PartState): string {
    this.deltaPrefix ??= `${this.partPosition}${type === 'output_text' ? ',"logprobs":[]' : ''},"delta":`;
    return this.deltaPrefix;
  }

  private get partPosition(): string {
    return `${this.position},"content_index":${this.state.content.length}`;
  }
}

/** The state of an empty message. */
export function emptyMessage(id: string, key: string | null, head: MessageState['head']): MessageState {
  return { kind: 'message', id, key, head, content: [], part: null, other: null };
}

/** Applies an event to a message; returns its characters of output. */
export function foldMessage(message: MessageState, event: WireEvent): number {
  const { part } = message;
  switch (event.type) {
    case 'response.content_part.added': {
      const added = event.part as ContentPart;
      if (isOwnPart(added)) message.part = emptyPart(added.type);
      else message.other = added;
      return 0;
    }
    case 'response.content_part.done':
      message.content.push(event.part as ContentPart);
      message.part = null;
      message.other = null;
      return 0;
    case 'response.output_text.annotation.added':
      part?.annotations.push(event.annotation as Annotation);
      return JSON.stringify(event.annotation).length;
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return foldDelta(part, event) + foldLogprobs(part, event);
    default:
      if (part === null) return 0;
      part.isDone = true;
      if (part.half !== undefined) part.half = undefined;
      part.text = String(event['text'] ?? event['refusal']);
      return 0;
  }
}

function foldLogprobs(part: PartState | null, event: WireEvent): number {
  const { logprobs = [] } = event as unknown as { readonly logprobs?: readonly Logprob[] };
  part?.logprobs.push(...logprobs);
  return logprobs.length === 0 ? 0 : JSON.stringify(logprobs).length;
}

function requireList(logprobs: unknown): void {
  if (!Array.isArray(logprobs)) throw new ProviderContractError('logprobs must be a list');
}

/** A part that begins. */
function emptyPart(type: PartState['type']): PartState {
  return { type, text: '', isDone: false, annotations: [], logprobs: [] };
}

/** Whether an upstream's part can be shown in events: an object with a type, and the text of its type. */
function isPart(part: unknown): part is ContentPart {
  if (!isObject(part)) return false;
  const { type, text, refusal } = part as ContentPart;
  if (type === 'output_text') return typeof text === 'string';
  return type === 'refusal' ? typeof refusal === 'string' : typeof type === 'string' && type !== 'reasoning_text';
}

/** Whether a part has deltas. */
function isOwnPart(part: ContentPart): part is ContentPart & { readonly type: PartState['type'] } {
  return part.type === 'output_text' || part.type === 'refusal';
}

/** SDKs expect both lists in an `output_text` (protocol §3.2); not every upstream sends them. */
function withLists(part: unknown): unknown {
  if (!isPart(part) || part.type !== 'output_text') return part;
  const { annotations, logprobs } = part;
  if (Array.isArray(annotations) && Array.isArray(logprobs)) return part;
  return { ...part, annotations: listIn(annotations), logprobs: listIn(logprobs) };
}
