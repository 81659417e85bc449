import { BACKGROUND_STATUSES, EVENT_FIELDS, STATUSES_OF_EVENT, TERMINAL_TYPES } from './event-fields.js';
import { ItemOrder } from './item-order.js';
import { requireEnding, requireOutput, requireResponse, requireUnfinished } from './response-rules.js';
import { EventOrderError, isObject, kindOf, requireRule, type WireEvent } from './rule.js';

/** Options of the checker. */
export interface EventOrderOptions {
  /** SSE by default, as the SDKs stream. */
  readonly transport?: 'sse' | 'ws';
  /** Whether deltas are padded; by default only on SSE. A request disables it by `stream_options`. */
  readonly obfuscated?: boolean;
  /** A warm-up: only created and completed (protocol §6.4). */
  readonly warmUp?: boolean;
}

/**
 * Checks the events of one response, from the first to the last, against the rules of the protocol (§4): numbers
 * without gaps, items and parts that open and close in order, texts that are their deltas joined, one terminal event at
 * the end. Throws EventOrderError for the first violation.
 */
export function checkEventOrder(events: readonly unknown[], options: EventOrderOptions = {}): void {
  const order = new EventOrder(options);
  for (const event of events) order.accept(event);
  order.requireEnd();
}

/** Checks as `checkEventOrder` does, for events that come one by one. */
export class EventOrder {
  private position = 0;
  private sequenceNumber = 0;
  private responseId: unknown;
  /** Whether the response began in the queue of background responses. */
  private isQueued = false;
  private isOver = false;
  private readonly items: ItemOrder[] = [];
  private readonly ids = new Set<unknown>();
  private readonly transport: 'sse' | 'ws';
  private readonly obfuscated: boolean;

  constructor(private readonly options: EventOrderOptions = {}) {
    this.transport = options.transport ?? 'sse';
    this.obfuscated = options.obfuscated ?? this.transport === 'sse';
  }

  /** Whether the terminal event has arrived. */
  get ended(): boolean {
    return this.isOver;
  }

  /** Takes the next event. Throws EventOrderError when it violates a rule. */
  accept(event: unknown): void {
    try {
      this.check(requireEvent(event));
    } catch (error) {
      throw new EventOrderError((error as Error).message, { position: this.position, event });
    }
    this.position += 1;
  }

  /** Throws EventOrderError unless the terminal event has arrived. */
  requireEnd(): void {
    if (!this.isOver) throw new EventOrderError('the stream must end with a terminal event');
  }

  private check(event: WireEvent): void {
    requireRule(!this.isOver, 'nothing may follow the terminal event');
    if (event.type === 'keepalive') return;
    if (event.type === 'response.metadata') {
      requireRule(this.transport === 'ws', 'response.metadata is only allowed on sockets');
      return;
    }
    // About the connection; the number is not one of the response.
    if (this.transport === 'ws' && event.type === 'response.steer.failed') return;
    // What is not part of the protocol may accompany a response on a socket, and has no number.
    if (this.transport === 'ws' && !EVENT_FIELDS.has(event.type) && event['sequence_number'] === undefined) return;
    requireFields(event);
    this.requirePlace(event);
    this.requireObfuscation(event);
    // A steer that was accepted belongs to no item, but its event has a number.
    if (event.type === 'response.steer.accepted') return;
    if (STATUSES_OF_EVENT.has(event.type)) this.acceptSnapshot(event);
    else if (event.type === 'response.output_item.added') this.addItem(event);
    else this.itemOf(event).accept(event);
  }

  private requirePlace({ type, sequence_number: number }: WireEvent): void {
    requireRule(
      number === this.sequenceNumber,
      `sequence_number must be ${this.sequenceNumber}, not ${String(number)}`,
    );
    this.sequenceNumber += 1;
    requireRule(
      (number === 0) === (type === 'response.created'),
      'response.created must be the first event and only that',
    );
    requireRule(
      (number === 1 && this.isQueued) === (type === 'response.queued'),
      'response.queued must be the second event of a queued response and only that',
    );
    const place = this.isQueued ? 2 : 1;
    // A queued response may end before it runs.
    const needsNone = this.options.warmUp === true || (this.isQueued && TERMINAL_TYPES.has(type));
    requireRule(
      (number === place && !needsNone) === (type === 'response.in_progress'),
      `response.in_progress must be the ${this.isQueued ? 'third' : 'second'} event and only that`,
    );
  }

  private requireObfuscation({ type, delta, obfuscation }: WireEvent): void {
    if (!this.obfuscated || !type.endsWith('.delta') || typeof delta !== 'string') {
      requireRule(obfuscation === undefined, 'obfuscation belongs to padded deltas only');
      return;
    }
    requireRule(typeof obfuscation === 'string', 'obfuscation is missing on a delta');
    requireRule(/^[A-Za-z0-9]*$/.test(obfuscation), 'obfuscation must be letters and digits');
    requireRule(
      (delta.length + obfuscation.length) % 16 === 0,
      'delta and obfuscation must add up to a multiple of 16 characters',
    );
  }

  private addItem({ output_index: index, item }: WireEvent): void {
    requireRule(index === this.items.length, `output_index must be ${this.items.length}, not ${String(index)}`);
    const { id } = item as WireEvent;
    requireRule(typeof id === 'string' && id !== '', 'an item must have an id');
    requireRule(!this.ids.has(id), `the item id ${id} is already in use`);
    this.ids.add(id);
    this.items.push(new ItemOrder(item as WireEvent));
  }

  private itemOf({ output_index: index, item_id: id }: WireEvent): ItemOrder {
    const item = this.items[index as number];
    requireRule(item !== undefined, `there is no item at output_index ${String(index)}`);
    requireRule(id === undefined || id === item.id, `item_id must be ${item.id}, not ${String(id)}`);
    return item;
  }

  private acceptSnapshot({ type, response }: WireEvent): void {
    const snapshot = response as WireEvent;
    requireResponse(snapshot);
    const { id } = snapshot;
    this.responseId ??= id;
    requireRule(id === this.responseId, `response.id must stay ${String(this.responseId)}`);
    const { status, background } = snapshot;
    const expected = STATUSES_OF_EVENT.get(type) ?? [];
    requireRule(
      expected.includes(String(status)),
      `response.status must be ${expected.join(' or ')}, not ${String(status)}`,
    );
    requireRule(
      background === true || !BACKGROUND_STATUSES.has(status),
      `only background responses are ${String(status)}`,
    );
    if (type === 'response.created') this.isQueued = status === 'queued';
    if (TERMINAL_TYPES.has(type)) this.end(snapshot);
    else requireUnfinished(snapshot);
  }

  private end(response: WireEvent): void {
    this.isOver = true;
    const kept = this.items.filter(({ isInterrupted }) => !isInterrupted);
    const open = kept.filter(({ done }) => done === null).map(({ id }) => id);
    requireRule(open.length === 0, `output_item.done is missing for ${open.join(', ')}`);
    requireOutput(
      response,
      kept.map(({ done }) => done),
    );
    requireEnding(response);
  }
}

function requireEvent(event: unknown): WireEvent {
  requireRule(isObject(event) && typeof event['type'] === 'string', 'an event must be an object with a type');
  return event as WireEvent;
}

function requireFields(event: WireEvent): void {
  const fields = EVENT_FIELDS.get(event.type);
  requireRule(fields !== undefined, 'unknown event type');
  for (const field of ['sequence_number:integer', ...fields.split(' ')]) {
    const [name = '', kind] = field.split(':');
    requireRule(kindOf(event[name]) === kind, `${name} must be of kind ${kind ?? ''}`);
  }
}
