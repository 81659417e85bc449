import type OpenAI from 'openai';

import type { ContentPart, Item, ResponseObject } from '../../protocol/index.js';
import { TERMINAL_TYPES } from './event-fields.js';
import { EventOrder, type EventOrderOptions } from './event-order.js';
import { readEvents, textOf } from './read-events.js';
import type { WireEvent } from './rule.js';

/** Where events come from: the answer of `fetch`, a stream of an SDK, or anything else that gives them one by one. */
export type EventSource = Response | AsyncIterable<unknown> | Iterable<unknown>;

/** What the model asks its client to run. */
export type CollectedCall = OpenAI.Responses.ResponseFunctionToolCall | OpenAI.Responses.ResponseCustomToolCall;

const CALL_TYPES: ReadonlySet<string> = new Set(['function_call', 'custom_tool_call']);

/**
 * Collects the events of one response and checks each as it comes against the rules of the protocol, then shows what they
 * amount to:
 *
 *     const { text, calls } = await EventCollector.collect(await fetch(url, request));
 *
 * What it throws is an ordinary Error (EventOrderError) that names the rule and the event that broke it.
 */
export class EventCollector {
  private readonly collected: WireEvent[] = [];
  private readonly order: EventOrder;

  constructor(options: EventOrderOptions = {}) {
    this.order = new EventOrder(options);
  }

  /** Reads a whole response. Throws when a rule is broken, when the source does, and for an HTTP answer without a stream. */
  static async collect(source: EventSource, options: EventOrderOptions = {}): Promise<EventCollector> {
    const collector = new EventCollector(options);
    for await (const event of await eventsOf(source)) collector.accept(event);
    collector.requireEnd();
    return collector;
  }

  /** Takes one event, such as a message of a socket. Throws EventOrderError when it breaks a rule. */
  accept(event: unknown): void {
    this.order.accept(event);
    this.collected.push(event as WireEvent);
  }

  /** Throws EventOrderError unless the response has ended. */
  requireEnd(): void {
    this.order.requireEnd();
  }

  /** Whether the terminal event came. */
  get ended(): boolean {
    return this.order.ended;
  }

  /** Everything that came, keepalives too. */
  get events(): readonly WireEvent[] {
    return this.collected;
  }

  /** The types of the events, in order. */
  get types(): readonly string[] {
    return this.collected.map(({ type }) => type);
  }

  /** The Response of the terminal event. Throws EventOrderError before it came. */
  get response(): ResponseObject {
    this.requireEnd();
    return this.collected.findLast(({ type }) => TERMINAL_TYPES.has(type))?.['response'] as ResponseObject;
  }

  /** What the model said: all text of all messages. */
  get text(): string {
    return join(this.parts('message', 'content'), 'output_text', 'text');
  }

  /** What the model said instead of an answer. */
  get refusal(): string {
    return join(this.parts('message', 'content'), 'refusal', 'refusal');
  }

  /** What the model showed of its thoughts. */
  get reasoning(): string {
    return join(this.parts('reasoning', 'content'), 'reasoning_text', 'text');
  }

  /** The summary of its thoughts; its parts are separated by a blank line. */
  get reasoningSummary(): string {
    return join(this.parts('reasoning', 'summary'), 'summary_text', 'text', '\n\n');
  }

  /** The calls of functions and custom tools, in order. */
  get calls(): readonly CollectedCall[] {
    return this.response.output.filter(({ type }) => CALL_TYPES.has(type)) as unknown as readonly CollectedCall[];
  }

  private parts(itemType: string, member: 'content' | 'summary'): readonly ContentPart[] {
    const items: readonly Item[] = this.response.output.filter(({ type }) => type === itemType);
    return items.flatMap((item) => (item[member] ?? []) as readonly ContentPart[]);
  }
}

async function eventsOf(source: EventSource): Promise<AsyncIterable<unknown> | Iterable<unknown>> {
  if (!isAnswer(source)) return source;
  const type = source.headers.get('content-type') ?? 'no content-type';
  if (type.startsWith('text/event-stream')) return readEvents(textOf(source));
  throw new Error(`HTTP ${source.status} with ${type} instead of a stream of events: ${await source.text()}`);
}

/** By its shape: test frameworks may have a `Response` of another realm. */
function isAnswer(source: EventSource): source is Response {
  return 'headers' in source && 'status' in source;
}

function join(parts: readonly ContentPart[], type: string, member: string, separator = ''): string {
  return parts
    .filter((part) => part.type === type)
    .map((part) => String(part[member]))
    .join(separator);
}
