import type { RawContentBlockStartEvent, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';

import { type ApiError, deltaOf, type Item, type ResponseObject, type StreamEvent } from '../../protocol/index.js';
import type { AdmittedTurn, StreamForm } from '../../responses/index.js';
import {
  HiddenThinking,
  newMessage,
  PART_SEPARATOR,
  toEnd,
  toInput,
  toMessageId,
  toToolUse,
  toUsage,
} from './answer.js';
import { toStreamError } from './errors.js';
import type { MessageOptions, Translation } from './request.js';
import { shownTypes, toCitation, toServerBlocks } from './server-tools.js';
import { toSignature } from './signature.js';
import { toApiError } from '../door.js';
import { CONTENT_INDEX, indexIn, OUTPUT_INDEX, SUMMARY_INDEX } from '../event-members.js';
import { StopScanner } from '../stop-scanner.js';

/** The stream of a message: the events of a response in the form and order of Anthropic. */
export class MessageStream implements StreamForm {
  readonly keepalive = PING;
  readonly end = '';
  private readonly events: MessageEvents;
  private readonly requestId: string;

  constructor(
    private readonly translation: Pick<Translation, 'answer' | 'explain'>,
    turn: Pick<AdmittedTurn, 'responseId' | 'settings' | 'caller'>,
  ) {
    this.requestId = turn.caller.requestId;
    this.events = new MessageEvents(translation.answer, turn);
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

const PING = toFrame({ type: 'ping' });
/** The first frames around the id and the model, which are their only empty texts. */
const [START_HEAD = '', BEFORE_MODEL = '', START_END = ''] = (
  toFrame({ type: 'message_start', message: newMessage({ id: '', model: '' }) }) + PING
).split('""');
const STOP = toFrame({ type: 'message_stop' });

/** A block of the message. */
interface Block {
  readonly index: number;
  /** The frame of a delta of its texts, up to the text. */
  readonly head: string;
  /** The frames that it has to send when those before it are complete. */
  pending: string;
  isClosed: boolean;
}

interface TextBlock extends Block {
  readonly scanner: StopScanner;
  /** The text so far, which citations quote; empty where searches are not shown. */
  said: string;
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
  /** The open ones, by the indexes of their items, whose parts follow one another. */
  private readonly texts = new Map<number, TextBlock>();
  /** By the indexes of their items. */
  private readonly thoughts = new Map<number, ThinkingBlock>();
  private readonly calls = new Map<number, CallBlock>();
  private readonly hidden = new HiddenThinking();
  /** Blocks that are open or wait, oldest first. */
  private readonly queue: Block[] = [];
  private opened = 0;
  private stopSequence: string | null = null;
  /** The items of which more is shown than their deltas say. */
  private readonly types: readonly Item['type'][];

  constructor(
    private readonly options: MessageOptions,
    private readonly turn: Pick<AdmittedTurn, 'responseId' | 'settings'>,
  ) {
    this.types = ['reasoning', 'function_call', ...shownTypes(options.shown)];
  }

  /** Whether a stop sequence was found: what follows is not shown. */
  get isCut(): boolean {
    return this.stopSequence !== null;
  }

  /** The frames that another event of the response brings about. */
  reduce(event: StreamEvent): string {
    this.sent = '';
    if (event.type === 'response.created') {
      const { responseId: id, settings } = this.turn;
      this.sent =
        START_HEAD + JSON.stringify(toMessageId(id)) + BEFORE_MODEL + JSON.stringify(settings.model) + START_END;
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
        this.closeText(indexIn(event, OUTPUT_INDEX));
        break;
      case REASONING_TEXT:
      case 'response.reasoning_summary_text.delta':
        if (this.options.thinking !== 'hidden') this.writeThinking(event);
        break;
      case 'response.function_call_arguments.delta': {
        const block = this.calls.get(indexIn(event, OUTPUT_INDEX));
        if (block !== undefined) this.writeInput(block, deltaOf(event));
        break;
      }
      case 'response.output_item.added': {
        const call = read(event, ['function_call']);
        if (call === null) break;
        const { output_index: index, item } = call;
        for (const block of this.hidden.beforeCall()) this.close(this.open({}, block));
        this.calls.set(index, this.open<Pick<CallBlock, 'begins'>>({ begins: 'nothing' }, toToolUse(item, {}), INPUT));
        break;
      }
      case 'response.output_item.done':
        this.closeItem(read(event, this.types));
        break;
      case 'response.output_text.annotation.added':
        if (this.options.shown.search) this.cite(event);
        break;
      default:
    }
  }

  private writeText(event: StreamEvent): void {
    const index = indexIn(event, OUTPUT_INDEX);
    const json = deltaOf(event);
    let block = this.texts.get(index);
    if (block === undefined) {
      // An empty block would be refused when it is sent back.
      if (json === EMPTY) return;
      const scanner = new StopScanner(this.options.stopSequences);
      block = this.open({ scanner, said: '' }, { type: 'text', text: '', citations: null }, TEXT);
      this.texts.set(index, block);
    }
    if (this.options.shown.search) block.said += JSON.parse(json) as string;
    if (this.options.stopSequences.length === 0) {
      this.writeDelta(block, json);
      return;
    }
    const { scanner } = block;
    const text = scanner.push(JSON.parse(json) as string);
    if (text !== '') this.writeDelta(block, JSON.stringify(text));
    if (scanner.found === null) return;
    this.stopSequence = scanner.found;
    this.close(block);
  }

  /** Ends the text of an item, if one is open. */
  private closeText(index: number): void {
    const block = this.texts.get(index);
    if (block === undefined) return;
    this.texts.delete(index);
    const rest = block.scanner.flush();
    if (rest !== '') this.writeDelta(block, JSON.stringify(rest));
    this.close(block);
  }

  private cite(event: StreamEvent): void {
    const block = this.texts.get(indexIn(event, OUTPUT_INDEX));
    if (block === undefined) return;
    const { annotation } = JSON.parse(`${event.json}}`) as { readonly annotation: Readonly<Record<string, unknown>> };
    const citation = toCitation(annotation, block.said);
    if (citation !== undefined) this.write(block, headOf(block.index, CITATION) + JSON.stringify(citation) + DELTA_END);
  }

  private writeThinking(event: StreamEvent): void {
    const { type: source } = event;
    const index = indexIn(event, OUTPUT_INDEX);
    const part = indexIn(event, source === REASONING_TEXT ? CONTENT_INDEX : SUMMARY_INDEX);
    const block = this.thoughts.get(index) ?? this.openThinking(index, source, part);
    if (block.source !== source || this.options.thinking === 'omitted') return;
    const json = deltaOf(event);
    const thinking = part === block.part ? json : JSON.stringify(PART_SEPARATOR + (JSON.parse(json) as string));
    block.part = part;
    this.writeDelta(block, thinking);
  }

  private openThinking(index: number, source: string, part: number): ThinkingBlock {
    const block = this.open({ source, part }, { type: 'thinking', thinking: '', signature: '' }, THINKING);
    this.thoughts.set(index, block);
    return block;
  }

  private closeItem(done: ItemEvent | null): void {
    if (done === null) return;
    const { output_index: index, item } = done;
    if (item.type === 'reasoning' && this.options.thinking === 'hidden') {
      for (const block of this.hidden.add(item)) this.close(this.open({}, block));
    } else if (item.type === 'reasoning') {
      const signature = toSignature(item['encrypted_content']);
      let block = this.thoughts.get(index);
      if (signature !== '') {
        block ??= this.openThinking(index, '', 0);
        this.write(block, headOf(block.index, SIGNATURE) + JSON.stringify(signature) + DELTA_END);
      }
      if (block !== undefined) this.close(block);
    }
    const call = this.calls.get(index);
    if (call !== undefined) this.closeCall(call, item);
    for (const block of toServerBlocks(item, this.options.shown)) this.close(this.open({}, block));
  }

  /** Input that does not begin as an object is written at its end. */
  private writeInput(block: CallBlock, json: string): void {
    if (block.begins === 'nothing') {
      const begun = (JSON.parse(json) as string).trimStart();
      if (begun === '') return;
      block.begins = begun.startsWith('{') ? 'object' : 'other';
      if (block.begins === 'object') this.writeDelta(block, JSON.stringify(begun));
    } else if (block.begins === 'object' && json !== EMPTY) this.writeDelta(block, json);
  }

  private closeCall(block: CallBlock, item: Item): void {
    if (block.begins === 'other') {
      const input = JSON.stringify(toInput(item['arguments']));
      this.writeDelta(block, JSON.stringify(input));
    }
    this.close(block);
  }

  private finish(response: ResponseObject): void {
    if (response.error !== null) return;
    for (const index of this.texts.keys()) this.closeText(index);
    for (const block of [...this.queue]) this.close(block);
    const delta = { ...toEnd(response, this.stopSequence), container: null };
    this.sent += toFrame({ type: 'message_delta', delta, usage: toUsage(response, this.options) });
    this.sent += STOP;
  }

  private open<More extends object>(
    more: More,
    content: RawContentBlockStartEvent['content_block'],
    kind = '',
  ): Block & More {
    const block = { index: this.opened, head: headOf(this.opened, kind), pending: '', isClosed: false, ...more };
    this.opened += 1;
    this.queue.push(block);
    this.write(block, toFrame({ type: 'content_block_start', index: block.index, content_block: content }));
    return block;
  }

  /** `json`: the text of the delta, as JSON. */
  private writeDelta(block: Block, json: string): void {
    this.write(block, block.head + json + DELTA_END);
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

/** Kinds of deltas, up to their texts. */
const TEXT = '{"type":"text_delta","text":';
const THINKING = '{"type":"thinking_delta","thinking":';
const SIGNATURE = '{"type":"signature_delta","signature":';
const INPUT = '{"type":"input_json_delta","partial_json":';
const CITATION = '{"type":"citations_delta","citation":';

/** The frame of a delta, up to its text. */
function headOf(index: number, kind: string): string {
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":${kind}`;
}

/** What follows the text. */
const DELTA_END = '}}\n\n';

/** An event about an item of one of some types; null for that of another, which need not be parsed. */
function read({ json }: StreamEvent, types: readonly Item['type'][]): ItemEvent | null {
  // Quotes in texts are escaped.
  if (!types.some((type) => json.includes(`"type":"${type}"`))) return null;
  const event = JSON.parse(`${json}}`) as ItemEvent;
  return types.includes(event.item.type) ? event : null;
}
