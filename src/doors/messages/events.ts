import type { RawContentBlockStartEvent, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';

import { type ApiError, deltaOf, type Item, type ResponseObject, type StreamEvent } from '../../protocol/index.js';
import type { StreamForm } from '../../responses/index.js';
import { HiddenThinking, newMessage, PART_SEPARATOR, toEnd, toInput, toToolUse, toUsage } from './answer.js';
import { toStreamError } from './errors.js';
import type { AnswerOptions, Translation } from './request.js';
import { toSignature } from './signature.js';
import { toApiError } from '../door.js';
import { StopScanner } from '../stop-scanner.js';

/** The stream of a message: the events of a response in the form and order of Anthropic. */
export class MessageStream implements StreamForm {
  readonly keepalive = toFrame({ type: 'ping' });
  readonly end = '';
  private readonly events: MessageEvents;

  constructor(
    private readonly translation: Pick<Translation, 'answer' | 'explain'>,
    private readonly requestId: string,
  ) {
    this.events = new MessageEvents(translation.answer);
  }

  /** After a stop sequence. */
  get isOver(): boolean {
    return this.events.isCut;
  }

  encode(batch: readonly StreamEvent[]): string {
    let frames = '';
    for (const event of batch) {
      frames += this.events.reduce(event);
      const failure = event.response?.error ?? null;
      if (failure === null) continue;
      const error = this.translation.explain(toApiError(failure)) as ApiError;
      frames += toFrame(toStreamError(error, this.requestId));
    }
    return frames;
  }
}

type SentEvent = RawMessageStreamEvent | { readonly type: 'ping' } | ReturnType<typeof toStreamError>;

function toFrame(event: SentEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** A block of the message. */
interface Block {
  readonly index: number;
  /** The frames that it has to send when those before it are complete. */
  pending: string;
  isClosed: boolean;
}

interface TextBlock extends Block {
  readonly scanner: StopScanner;
}

interface ThinkingBlock extends Block {
  /** The texts that it shows: those of the reasoning itself, or its summary, whichever comes first. */
  readonly source: string;
  /** The part that was written last. */
  part: number;
}

interface CallBlock extends Block {
  /** As what its input begins. */
  begins: 'nothing' | 'object' | 'other';
}

/** Members of an event about an item. */
interface ItemEvent {
  readonly output_index: number;
  readonly item: Item;
}

const REASONING_TEXT = 'response.reasoning_text.delta';

/**
 * Makes the frames of a message from the events of a response, one by one. Blocks follow one another: items that are written side by side
 * wait for those before them. Deltas are not parsed, unless something is searched in them.
 */
class MessageEvents {
  private sent = '';
  /** By the indexes of their parts. */
  private readonly texts = new Map<string, TextBlock>();
  /** By the indexes of their items. */
  private readonly thoughts = new Map<number, ThinkingBlock>();
  private readonly calls = new Map<number, CallBlock>();
  private readonly hidden = new HiddenThinking();
  /** Blocks that are open or wait, oldest first. */
  private readonly queue: Block[] = [];
  private opened = 0;
  private stopSequence: string | null = null;

  constructor(private readonly options: AnswerOptions) {}

  /** Whether a stop sequence was found: what follows is not shown. */
  get isCut(): boolean {
    return this.stopSequence !== null;
  }

  /** The frames that another event of the response brings about. */
  reduce(event: StreamEvent): string {
    this.sent = '';
    if (event.type === 'response.created') {
      const { response } = JSON.parse(`${event.json}}`) as { readonly response: ResponseObject };
      this.sent = toFrame({ type: 'message_start', message: newMessage(response) }) + toFrame({ type: 'ping' });
    } else if (event.response !== null) this.finish(event.response);
    else if (this.stopSequence === null) this.reduceItem(event);
    return this.sent;
  }

  private reduceItem(event: StreamEvent): void {
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.writeText(event);
        break;
      case 'response.content_part.done':
        this.closeText(this.texts.get(placeOf(event)));
        break;
      case REASONING_TEXT:
      case 'response.reasoning_summary_text.delta':
        if (this.options.thinking !== 'hidden') this.writeThinking(event);
        break;
      case 'response.function_call_arguments.delta': {
        const block = this.calls.get(outputIndexOf(event));
        if (block !== undefined) this.writeInput(block, deltaOf(event));
        break;
      }
      case 'response.output_item.added': {
        const { output_index: index, item } = read(event);
        if (item.type !== 'function_call') break;
        for (const block of this.hidden.beforeCall()) this.close(this.open({}, block));
        this.calls.set(index, this.open<Pick<CallBlock, 'begins'>>({ begins: 'nothing' }, toToolUse(item, {})));
        break;
      }
      case 'response.output_item.done':
        this.closeItem(read(event));
        break;
      default:
    }
  }

  private writeText(event: StreamEvent): void {
    const place = placeOf(event);
    const json = deltaOf(event);
    let block = this.texts.get(place);
    if (block === undefined) {
      // An empty block would be refused when it is sent back.
      if (json === EMPTY) return;
      const scanner = new StopScanner(this.options.stopSequences);
      block = this.open({ scanner }, { type: 'text', text: '', citations: null });
      this.texts.set(place, block);
    }
    if (this.options.stopSequences.length === 0) {
      this.writeDelta(block, 'text', json);
      return;
    }
    const { scanner } = block;
    const text = scanner.push(JSON.parse(json) as string);
    if (text !== '') this.writeDelta(block, 'text', JSON.stringify(text));
    if (scanner.found === null) return;
    this.stopSequence = scanner.found;
    this.close(block);
  }

  private closeText(block: TextBlock | undefined): void {
    if (block === undefined) return;
    const rest = block.scanner.flush();
    if (rest !== '') this.writeDelta(block, 'text', JSON.stringify(rest));
    this.close(block);
  }

  private writeThinking(event: StreamEvent): void {
    const { type: source } = event;
    const index = outputIndexOf(event);
    const part = partIndexOf(event);
    const block = this.thoughts.get(index) ?? this.openThinking(index, source, part);
    if (block.source !== source || this.options.thinking === 'omitted') return;
    const json = deltaOf(event);
    const thinking = part === block.part ? json : JSON.stringify(PART_SEPARATOR + (JSON.parse(json) as string));
    block.part = part;
    this.writeDelta(block, 'thinking', thinking);
  }

  private openThinking(index: number, source: string, part: number): ThinkingBlock {
    const block = this.open({ source, part }, { type: 'thinking', thinking: '', signature: '' });
    this.thoughts.set(index, block);
    return block;
  }

  private closeItem({ output_index: index, item }: ItemEvent): void {
    if (item.type === 'reasoning' && this.options.thinking === 'hidden') {
      for (const block of this.hidden.add(item)) this.close(this.open({}, block));
    } else if (item.type === 'reasoning') {
      const signature = toSignature(item['encrypted_content']);
      let block = this.thoughts.get(index);
      if (signature !== '') {
        block ??= this.openThinking(index, '', 0);
        this.writeDelta(block, 'signature', JSON.stringify(signature));
      }
      if (block !== undefined) this.close(block);
    }
    const call = this.calls.get(index);
    if (call !== undefined) this.closeCall(call, item);
  }

  /** Input that does not begin as an object is written at its end. */
  private writeInput(block: CallBlock, json: string): void {
    if (block.begins === 'nothing') {
      const begun = (JSON.parse(json) as string).trimStart();
      if (begun === '') return;
      block.begins = begun.startsWith('{') ? 'object' : 'other';
      if (block.begins === 'object') this.writeDelta(block, 'input_json', JSON.stringify(begun));
    } else if (block.begins === 'object' && json !== EMPTY) this.writeDelta(block, 'input_json', json);
  }

  private closeCall(block: CallBlock, item: Item): void {
    if (block.begins === 'other') {
      const input = JSON.stringify(toInput(item['arguments']));
      this.writeDelta(block, 'input_json', JSON.stringify(input));
    }
    this.close(block);
  }

  private finish(response: ResponseObject): void {
    if (response.error !== null) return;
    for (const block of this.texts.values()) this.closeText(block);
    for (const block of [...this.queue]) this.close(block);
    const delta = { ...toEnd(response, this.stopSequence), container: null };
    this.sent += toFrame({ type: 'message_delta', delta, usage: toUsage(response.usage) });
    this.sent += toFrame({ type: 'message_stop' });
  }

  private open<More extends object>(more: More, content: RawContentBlockStartEvent['content_block']): Block & More {
    const block = { index: this.opened, pending: '', isClosed: false, ...more };
    this.opened += 1;
    this.queue.push(block);
    this.write(block, toFrame({ type: 'content_block_start', index: block.index, content_block: content }));
    return block;
  }

  /** `json`: the text of the delta, as JSON. */
  private writeDelta(block: Block, kind: keyof typeof MEMBERS, json: string): void {
    const delta = `{"type":"${kind}_delta","${MEMBERS[kind]}":${json}}`;
    const event = `{"type":"content_block_delta","index":${block.index},"delta":${delta}}`;
    this.write(block, `event: content_block_delta\ndata: ${event}\n\n`);
  }

  private write(block: Block, frame: string): void {
    if (this.queue[0] === block) this.sent += frame;
    else block.pending += frame;
  }

  /** Ends a block, and lets those behind it speak. */
  private close(block: Block): void {
    if (block.isClosed) return;
    this.write(block, toFrame({ type: 'content_block_stop', index: block.index }));
    block.isClosed = true;
    let [first] = this.queue;
    while (first?.isClosed) {
      this.queue.shift();
      [first] = this.queue;
      if (first === undefined) break;
      this.sent += first.pending;
      first.pending = '';
    }
  }
}

/** An empty text as JSON. */
const EMPTY = '""';

/** The members that have the texts of deltas. */
const MEMBERS = { text: 'text', thinking: 'thinking', signature: 'signature', input_json: 'partial_json' } as const;

function placeOf(event: StreamEvent): string {
  return `${outputIndexOf(event)}.${partIndexOf(event)}`;
}

function outputIndexOf({ json }: StreamEvent): number {
  return Number(/"output_index":(\d+)/.exec(json)?.[1]);
}

/** The index of a part of a content, or of a summary. */
function partIndexOf({ json }: StreamEvent): number {
  return Number(/"(?:content|summary)_index":(\d+)/.exec(json)?.[1]);
}

function read({ json }: StreamEvent): ItemEvent {
  return JSON.parse(`${json}}`) as ItemEvent;
}
