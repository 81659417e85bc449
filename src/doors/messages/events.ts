import type {
  RawContentBlockDelta,
  RawContentBlockStartEvent,
  RawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/messages';

import type { ApiError, Item, ResponseObject, StreamEvent } from '../../protocol/index.js';
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
      for (const sent of this.events.reduce(event)) {
        frames += toFrame(sent);
        if (sent.type === 'message_start') frames += this.keepalive;
      }
      const failure = event.response?.error ?? null;
      if (failure === null) continue;
      const error = this.translation.explain(toApiError(failure)) as ApiError;
      frames += toFrame(toStreamError(error, this.requestId));
    }
    return frames;
  }
}

function toFrame(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** A block of the message. */
interface Block {
  readonly index: number;
  /** What it has to say when those before it are complete. */
  readonly pending: RawMessageStreamEvent[];
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

/** Members of the events of a response that blocks are made of. */
interface ItemEvent {
  readonly output_index: number;
  readonly content_index: number;
  readonly summary_index: number;
  readonly delta: string;
  readonly item: Item;
}

/**
 * Makes the events of a message from those of a response, one by one. Blocks follow one another: items that are written side by side
 * wait for those before them.
 */
class MessageEvents {
  private sent: RawMessageStreamEvent[] = [];
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

  /** The events that another event of the response brings about. */
  reduce(event: StreamEvent): readonly RawMessageStreamEvent[] {
    this.sent = [];
    if (event.type === 'response.created') {
      const { response } = JSON.parse(`${event.json}}`) as { readonly response: ResponseObject };
      this.sent.push({ type: 'message_start', message: newMessage(response) });
    } else if (event.response !== null) this.finish(event.response);
    else if (this.stopSequence === null) this.reduceItem(event);
    return this.sent;
  }

  private reduceItem(event: StreamEvent): void {
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.writeText(read(event));
        break;
      case 'response.content_part.done':
        this.closeText(this.texts.get(placeOf(read(event))));
        break;
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        if (this.options.thinking !== 'hidden') this.writeThinking(event.type, read(event));
        break;
      case 'response.function_call_arguments.delta': {
        const { output_index: index, delta } = read(event);
        const block = this.calls.get(index);
        if (block !== undefined) this.writeInput(block, delta);
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

  private writeText(event: ItemEvent): void {
    const place = placeOf(event);
    let block = this.texts.get(place);
    if (block === undefined) {
      // An empty block would be refused when it is sent back.
      if (event.delta === '') return;
      const scanner = new StopScanner(this.options.stopSequences);
      block = this.open({ scanner }, { type: 'text', text: '', citations: null });
      this.texts.set(place, block);
    }
    const { scanner } = block;
    const text = scanner.push(event.delta);
    if (text !== '') this.writeDelta(block, { type: 'text_delta', text });
    if (scanner.found === null) return;
    this.stopSequence = scanner.found;
    this.close(block);
  }

  private closeText(block: TextBlock | undefined): void {
    if (block === undefined) return;
    const rest = block.scanner.flush();
    if (rest !== '') this.writeDelta(block, { type: 'text_delta', text: rest });
    this.close(block);
  }

  private writeThinking(source: string, event: ItemEvent): void {
    const { output_index: index, delta } = event;
    const part = source === 'response.reasoning_text.delta' ? event.content_index : event.summary_index;
    const block = this.thoughts.get(index) ?? this.openThinking(index, source, part);
    if (block.source !== source || this.options.thinking === 'omitted') return;
    const thinking = part === block.part ? delta : PART_SEPARATOR + delta;
    block.part = part;
    this.writeDelta(block, { type: 'thinking_delta', thinking });
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
        this.writeDelta(block, { type: 'signature_delta', signature });
      }
      if (block !== undefined) this.close(block);
    }
    const call = this.calls.get(index);
    if (call !== undefined) this.closeCall(call, item);
  }

  /** Input that does not begin as an object is written at its end. */
  private writeInput(block: CallBlock, delta: string): void {
    const json = block.begins === 'nothing' ? delta.trimStart() : delta;
    if (json === '') return;
    if (block.begins === 'nothing') block.begins = json.startsWith('{') ? 'object' : 'other';
    if (block.begins === 'object') this.writeDelta(block, { type: 'input_json_delta', partial_json: json });
  }

  private closeCall(block: CallBlock, item: Item): void {
    if (block.begins === 'other') {
      const input = JSON.stringify(toInput(item['arguments']));
      this.writeDelta(block, { type: 'input_json_delta', partial_json: input });
    }
    this.close(block);
  }

  private finish(response: ResponseObject): void {
    if (response.error !== null) return;
    for (const block of this.texts.values()) this.closeText(block);
    for (const block of [...this.queue]) this.close(block);
    this.sent.push(
      {
        type: 'message_delta',
        delta: { ...toEnd(response, this.stopSequence), container: null },
        usage: toUsage(response.usage),
      },
      { type: 'message_stop' },
    );
  }

  private open<More extends object>(more: More, content: RawContentBlockStartEvent['content_block']): Block & More {
    const block = { index: this.opened, pending: [], isClosed: false, ...more };
    this.opened += 1;
    this.queue.push(block);
    this.write(block, { type: 'content_block_start', index: block.index, content_block: content });
    return block;
  }

  private writeDelta(block: Block, delta: RawContentBlockDelta): void {
    this.write(block, { type: 'content_block_delta', index: block.index, delta });
  }

  private write(block: Block, event: RawMessageStreamEvent): void {
    if (this.queue[0] === block) this.sent.push(event);
    else block.pending.push(event);
  }

  /** Ends a block, and lets those behind it speak. */
  private close(block: Block): void {
    if (block.isClosed) return;
    this.write(block, { type: 'content_block_stop', index: block.index });
    block.isClosed = true;
    let [first] = this.queue;
    while (first?.isClosed) {
      this.queue.shift();
      [first] = this.queue;
      if (first !== undefined) this.sent.push(...first.pending.splice(0));
    }
  }
}

function placeOf({ output_index: item, content_index: part }: ItemEvent): string {
  return `${item}.${part}`;
}

function read({ json }: StreamEvent): ItemEvent {
  return JSON.parse(`${json}}`) as ItemEvent;
}
