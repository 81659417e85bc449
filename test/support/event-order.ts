import { EVENT_FIELDS, RESPONSE_MEMBERS, STATUS_OF_EVENT, TERMINAL_TYPES } from './event-fields.js';
import { ItemOrder } from './item-order.js';
import { isSameJson, requireRule, type WireEvent } from './rule.js';

/** What the checker must know of where the events came from. */
export interface EventOrderOptions {
  readonly transport: 'sse' | 'ws';
  /** Whether deltas are padded; by default on SSE and nowhere else. */
  readonly obfuscated?: boolean;
  /** A turn that only prepares its context: created and completed, and nothing between (protocol §6.4). */
  readonly warmUp?: boolean;
}

/**
 * Checks the events of one response, from the first to the last, against protocol §4. Throws an Error that names the first
 * broken rule and the event that broke it.
 */
export function checkEventOrder(events: readonly unknown[], options: EventOrderOptions): void {
  const order = new EventOrder(options);
  for (const [position, event] of events.entries()) {
    try {
      order.accept(requireEvent(event));
    } catch (error) {
      const type = (event as WireEvent | null)?.type ?? 'no type';
      throw new Error(`event ${position} (${type}): ${(error as Error).message}`, { cause: error });
    }
  }
  order.requireEnd();
}

class EventOrder {
  private sequenceNumber = 0;
  private responseId: unknown;
  private ended = false;
  private readonly items: ItemOrder[] = [];
  private readonly ids = new Set<unknown>();
  private readonly obfuscated: boolean;

  constructor(private readonly options: EventOrderOptions) {
    this.obfuscated = options.obfuscated ?? options.transport === 'sse';
  }

  accept(event: WireEvent): void {
    requireRule(!this.ended, 'nothing may follow the terminal event');
    if (event.type === 'keepalive') {
      return;
    }
    if (event.type === 'response.metadata') {
      requireRule(this.options.transport === 'ws', 'response.metadata is only allowed on sockets');
      return;
    }
    requireFields(event);
    this.requirePlace(event);
    this.requireObfuscation(event);
    if (STATUS_OF_EVENT.has(event.type)) this.acceptSnapshot(event);
    else if (event.type === 'response.output_item.added') this.addItem(event);
    else this.itemOf(event).accept(event);
  }

  requireEnd(): void {
    requireRule(this.ended, 'the stream must end with a terminal event');
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
      (number === 1 && this.options.warmUp !== true) === (type === 'response.in_progress'),
      'response.in_progress must be the second event and only that',
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
    requireRule(!this.ids.has(id), `the item id ${id} is in use already`);
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
    const missing = RESPONSE_MEMBERS.filter((member) => snapshot[member] === undefined);
    requireRule(missing.length === 0, `the response lacks ${missing.join(', ')}`);
    requireRule(snapshot['object'] === 'response', 'object must be response');
    const { id } = snapshot;
    requireRule(typeof id === 'string' && /^resp_./.test(id), 'the response must have an id that begins with resp_');
    this.responseId ??= id;
    requireRule(id === this.responseId, `response.id must stay ${String(this.responseId)}`);
    const status = STATUS_OF_EVENT.get(type) ?? '';
    requireRule(snapshot['status'] === status, `response.status must be ${status}, not ${String(snapshot['status'])}`);
    if (TERMINAL_TYPES.has(type)) this.end(snapshot);
    else requireUnfinished(snapshot);
  }

  private end(response: WireEvent): void {
    this.ended = true;
    const open = this.items.filter(({ done }) => done === null).map(({ id }) => id);
    requireRule(open.length === 0, `output_item.done is missing for ${open.join(', ')}`);
    requireRule(
      isSameJson(
        response['output'],
        this.items.map(({ done }) => done),
      ),
      'the output of the terminal event must be the items of output_item.done',
    );
    const { status, completed_at: completedAt, error, incomplete_details: details, usage } = response;
    requireRule(
      (typeof completedAt === 'number') === (status === 'completed'),
      'completed_at belongs to completed only',
    );
    requireRule(isError(error) === (status === 'failed'), 'error with code and message belongs to failed only');
    requireRule((details !== null) === (status === 'incomplete'), 'incomplete_details belongs to incomplete only');
    requireRule(isUsage(usage) || (usage === null && status === 'failed'), 'usage must be complete and add up');
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

function requireUnfinished({
  output,
  usage,
  completed_at: completedAt,
  error,
  incomplete_details: details,
}: WireEvent): void {
  requireRule(Array.isArray(output) && output.length === 0, 'output must be empty before the end');
  const early = [usage, completedAt, error, details].some((value) => value !== null);
  requireRule(!early, 'usage, completed_at, error and incomplete_details must be null before the end');
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return kindOf(value) === 'object';
}

function isError(value: unknown): boolean {
  return isObject(value) && typeof value['code'] === 'string' && typeof value['message'] === 'string';
}

function isUsage(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { input_tokens: input, output_tokens: output, total_tokens: total } = value;
  const { input_tokens_details: inputDetails, output_tokens_details: outputDetails } = value;
  if (!isObject(inputDetails) || !isObject(outputDetails)) return false;
  const counts = [input, output, inputDetails['cached_tokens'], inputDetails['cache_write_tokens']];
  const every = [...counts, outputDetails['reasoning_tokens']].every((count) => kindOf(count) === 'integer');
  return every && total === (input as number) + (output as number);
}
