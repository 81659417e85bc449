import type OpenAI from 'openai';

import { type ContentPart, isToolCall, type Item, type ResponseObject } from '../../protocol/index.js';
import { TERMINAL_TYPES } from './event-fields.js';
import { EventOrder, type EventOrderOptions } from './event-order.js';
import { readEvents, textOf } from './read-events.js';
import type { WireEvent } from './rule.js';

/** A source of events: a `fetch` Response, a stream of an SDK, or any other iterable of events. */
export type EventSource = Response | AsyncIterable<unknown> | Iterable<unknown>;

/** A call for the client to run. */
export type CollectedCall = OpenAI.Responses.ResponseFunctionToolCall | OpenAI.Responses.ResponseCustomToolCall;

/**
 * Collects the events of one response, validates each against the rules of the protocol, and returns the content:
 *
 *     const { text, calls } = await EventCollector.collect(await fetch(url, request));
 *
 * Throws an Error (EventOrderError) that names the rule and the event that violated it.
 */
export class EventCollector {
  private readonly collected: WireEvent[] = [];
  private readonly order: EventOrder;

  constructor(options: EventOrderOptions = {}) {
    this.order = new EventOrder(options);
  }

  /**
   * Reads a whole response. Throws when a rule is violated, when the source throws, and for an HTTP answer without a
   * stream.
   */
  static async collect(source: EventSource, options: EventOrderOptions = {}): Promise<EventCollector> {
    const collector = new EventCollector(options);
    for await (const event of await eventsOf(source)) collector.accept(event);
    collector.requireEnd();
    return collector;
  }

  /** Takes one event, such as a message of a socket. Throws EventOrderError when it violates a rule. */
  accept(event: unknown): void {
    this.order.accept(event);
    this.collected.push(event as WireEvent);
  }

  /** Throws EventOrderError unless the response has ended. */
  requireEnd(): void {
    this.order.requireEnd();
  }

  /** Whether the terminal event has arrived. */
  get ended(): boolean {
    return this.order.ended;
  }

  /** All events, including keepalives. */
  get events(): readonly WireEvent[] {
    return this.collected;
  }

  /** The types of the events, in order. */
  get types(): readonly string[] {
    return this.collected.map(({ type }) => type);
  }

  /** The Response of the terminal event. Throws EventOrderError before it has arrived. */
  get response(): ResponseObject {
    this.requireEnd();
    return this.collected.findLast(({ type }) => TERMINAL_TYPES.has(type))?.['response'] as ResponseObject;
  }

  /** The text of all messages. */
  get text(): string {
    return join(this.parts('message', 'content'), 'output_text', 'text');
  }

  /** The text of all refusals. */
  get refusal(): string {
    return join(this.parts('message', 'content'), 'refusal', 'refusal');
  }

  /** The reasoning text. */
  get reasoning(): string {
    return join(this.parts('reasoning', 'content'), 'reasoning_text', 'text');
  }

  /** The reasoning summary; its parts are separated by a blank line. */
  get reasoningSummary(): string {
    return join(this.parts('reasoning', 'summary'), 'summary_text', 'text', '\n\n');
  }

  /** The calls of functions and custom tools, in order. */
  get calls(): readonly CollectedCall[] {
    return this.response.output.filter(isToolCall) as unknown as readonly CollectedCall[];
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

/** Not `instanceof`: test frameworks may use a `Response` of another realm. */
function isAnswer(source: EventSource): source is Response {
  return 'headers' in source && 'status' in source;
}

function join(parts: readonly ContentPart[], type: string, member: string, separator = ''): string {
  return parts
    .filter((part) => part.type === type)
    .map((part) => String(part[member]))
    .join(separator);
}
