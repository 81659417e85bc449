import type { ChatCompletionChunk, ChatCompletionMessage } from 'openai/resources/chat/completions';

import {
  type ApiError,
  deltaOf,
  isToolCall,
  type Item,
  type Logprob,
  type ResponseObject,
  type StreamEvent,
} from '../../protocol/index.js';
import { type AdmittedTurn, obfuscationOf, type StreamForm } from '../../responses/index.js';
import {
  type ChatFinishReason,
  finishOf,
  type Pictures,
  type ReasoningMembers,
  toAnnotations,
  toCall,
  toChatError,
  toCompletionId,
  toDetails,
  toImages,
  toLogprob,
  toUsage,
} from './completion.js';
import { CutText, type Said } from './cut-text.js';
import { indexIn, OUTPUT_INDEX } from '../event-members.js';
import type { ChatAnswerOptions, ChatRequest } from './request.js';

type Members = Readonly<Record<string, unknown>>;

/** The members of a chunk's delta. */
type Delta = ChatCompletionChunk.Choice.Delta &
  ReasoningMembers &
  Pictures & { readonly annotations?: ChatCompletionMessage['annotations'] };

/** The chunks of one stream: what each event of the response adds to the message. */
export class ChatChunks implements StreamForm {
  /** A comment: clients take every event for a chunk. */
  readonly keepalive = ': keepalive\n\n';
  readonly end = 'data: [DONE]\n\n';
  /** What every chunk begins with. */
  private readonly head: string;
  /** What a chunk begins with, up to the delta of its choice, and what follows most deltas. */
  private readonly opening: string;
  private readonly ending: string;
  /** The usage of every chunk but the last. */
  private readonly usage: string;
  private readonly options: ChatAnswerOptions;
  private readonly cut: CutText | null;
  /** The positions of calls in the message, by their index in the output. */
  private readonly calls = new Map<number, number>();
  private details = 0;
  /** The length of the parts that have ended: a completion has one text. */
  private before = 0;
  /** The length of all texts so far. */
  private said = 0;

  constructor(
    { responseId, createdAt, settings }: Pick<AdmittedTurn, 'responseId' | 'createdAt' | 'settings'>,
    private readonly request: Pick<ChatRequest, 'answer' | 'explain'>,
  ) {
    this.options = request.answer;
    const { options } = this;
    const identity = { id: toCompletionId(responseId), object: 'chat.completion.chunk', created: createdAt };
    this.head = `data: ${JSON.stringify({ ...identity, model: settings.model }).slice(0, -1)}`;
    this.usage = options.includeUsage ? ',"usage":null' : '';
    this.opening = `${this.head},"choices":[{"index":0,"delta":`;
    this.ending = `,"logprobs":null,"finish_reason":null}]${this.usage}`;
    this.cut = options.stops.length === 0 ? null : new CutText(options.stops);
  }

  get isOver(): boolean {
    return this.cut?.isCut === true;
  }

  encode(batch: readonly StreamEvent[]): string {
    let frames = '';
    for (const event of batch) frames += this.read(event);
    return frames;
  }

  private read(event: StreamEvent): string {
    if (event.response !== null) return this.finish(event.response);
    if (this.isOver) return '';
    switch (event.type) {
      case 'response.output_text.delta':
        return this.say(event);
      case 'response.created':
        return this.delta('{"role":"assistant","content":"","refusal":null}', event);
      case 'response.refusal.delta':
        return this.delta(`{"refusal":${deltaOf(event)}}`, event);
      case 'response.reasoning_text.delta':
        return this.delta(`{"reasoning_content":${deltaOf(event)}}`, event);
      case 'response.output_item.added':
        return event.json.includes('_call"') ? this.begin(parse(event)['item'] as Item, event) : '';
      case 'response.function_call_arguments.delta':
        return this.goOn(event, 'function', 'arguments');
      case 'response.custom_tool_call_input.delta':
        return this.goOn(event, 'custom', 'input');
      case 'response.output_text.annotation.added':
        return this.annotate(parse(event)['annotation'] as Members, event);
      case 'response.output_text.done':
        this.before = this.said;
        return '';
      case 'response.output_item.done':
        return this.show(event);
      default:
        return '';
    }
  }

  private say(event: StreamEvent): string {
    this.said += event.deltaLength;
    const logprobs = this.options.logprobs ? (parse(event)['logprobs'] as readonly Logprob[]) : [];
    if (this.cut === null) return this.delta(`{"content":${deltaOf(event)}}`, event, logprobs);
    const said = this.cut.push(JSON.parse(deltaOf(event)) as string, logprobs);
    return this.text(said, this.paddingOf(event));
  }

  private begin(item: Item, event: StreamEvent): string {
    if (!isToolCall(item)) return '';
    const index = this.calls.size;
    this.calls.set(indexIn(event, OUTPUT_INDEX), index);
    return this.flush() + this.add({ tool_calls: [{ index, ...toCall(item) }] }, event);
  }

  private goOn(event: StreamEvent, kind: 'function' | 'custom', payload: 'arguments' | 'input'): string {
    const index = this.calls.get(indexIn(event, OUTPUT_INDEX));
    if (index === undefined) return '';
    return this.delta(`{"tool_calls":[{"index":${index},"${kind}":{"${payload}":${deltaOf(event)}}}]}`, event);
  }

  private annotate(annotation: Members, event: StreamEvent): string {
    const annotations = toAnnotations(annotation, this.before);
    return annotations.length === 0 ? '' : this.add({ annotations }, event);
  }

  /** What only a finished item has: the seal of reasoning, and an image. */
  private show(event: StreamEvent): string {
    const { json } = event;
    if (!json.includes('"encrypted_content":"') && !json.includes('"type":"image_generation_call"')) return '';
    const item = parse(event)['item'] as Item;
    const details = toDetails(item, this.details);
    this.details += details.length;
    const images = toImages(item);
    if (details.length > 0) return this.add({ reasoning_details: details }, event);
    return images.length > 0 ? this.add({ images }, event) : '';
  }

  private finish(response: ResponseObject): string {
    if (response.error !== null) {
      const error = this.request.explain(toChatError(response.error)) as ApiError;
      return `data: ${JSON.stringify(error.toBody())}\n\n`;
    }
    const said = this.flush();
    const reason = this.isOver ? 'stop' : finishOf(response, this.calls.size > 0);
    return said + this.close(reason, response) + this.count(response);
  }

  /** Says what might have become a stop sequence. */
  private flush(): string {
    return this.cut === null ? '' : this.text(this.cut.flush());
  }

  private text({ text, logprobs }: Said, padding = ''): string {
    if (text === '' && logprobs.length === 0) return '';
    return this.chunk(`{"content":${JSON.stringify(text)}}`, logprobs, padding);
  }

  private count(response: ResponseObject): string {
    if (!this.options.includeUsage) return '';
    const usage = response.usage === null ? null : toUsage(response.usage);
    return `${this.head},"choices":[],"usage":${JSON.stringify(usage)}${tierJson(response)}}\n\n`;
  }

  private add(delta: Delta, event: StreamEvent): string {
    return this.delta(JSON.stringify(delta), event);
  }

  private delta(delta: string, event: StreamEvent, logprobs: readonly Logprob[] = []): string {
    return this.chunk(delta, logprobs, this.paddingOf(event));
  }

  private paddingOf(event: StreamEvent): string {
    return this.options.obfuscate && event.deltaLength >= 0 ? obfuscationOf(event) : '';
  }

  private chunk(delta: string, logprobs: readonly Logprob[], padding: string): string {
    if (logprobs.length === 0) return `${this.opening}${delta}${this.ending}${padding}}\n\n`;
    const tokens = JSON.stringify({ content: logprobs.map(toLogprob), refusal: null });
    return `${this.opening}${delta},"logprobs":${tokens},"finish_reason":null}]${this.usage}${padding}}\n\n`;
  }

  /** The last chunk of the choice. */
  private close(reason: ChatFinishReason, response: ResponseObject): string {
    return `${this.opening}{},"logprobs":null,"finish_reason":"${reason}"}]${this.usage}${tierJson(response)}}\n\n`;
  }
}

function tierJson({ service_tier: tier }: ResponseObject): string {
  return tier === null ? '' : `,"service_tier":${JSON.stringify(tier)}`;
}

function parse(event: StreamEvent): Members {
  return JSON.parse(`${event.json}}`) as Members;
}
