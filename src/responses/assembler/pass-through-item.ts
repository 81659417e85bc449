import { hasEvent, type Item, missingMember } from '../../protocol/index.js';
import {
  type ItemOptions,
  type ItemStatus,
  OutputItem,
  type PassedItem,
  ProviderContractError,
  requireText,
  type WireEvent,
} from './output-item.js';
import { OVERHEAD_CHARACTERS, type PassThroughState } from './state.js';

/** Members of an upstream event that are replaced. */
const ENVELOPE = new Set(['type', 'sequence_number', 'item_id', 'output_index', 'stream_id', 'obfuscation']);

/** The events that identify their item by index only (protocol §4). */
const WITHOUT_ITEM_ID = 'response.shell_call_command.';

/** An item of any other type: its envelope is rewritten, its payload is passed through unchanged. */
export class PassThroughItem extends OutputItem<PassThroughState> {
  /** Opens an item. */
  static begin({ events, outputIndex, key }: ItemOptions, { id, item }: PassedItem): PassThroughItem {
    const state: PassThroughState = { kind: 'other', id, key, item: { ...item, type: item.type, id } };
    const opened = new PassThroughItem(events, outputIndex, state);
    opened.announce();
    return opened;
  }

  /** Passes on an event of the item. Throws ProviderContractError for events of other item types. */
  event(event: Readonly<Record<string, unknown>>): void {
    const { type, delta } = event;
    requireText(type, 'the type of a passed event');
    requireOwnEvent(this.state.item.type, type, event);
    const members = toPayload(event);
    const position = type.startsWith(WITHOUT_ITEM_ID) ? `,"output_index":${this.outputIndex}` : this.position;
    const deltaLength = typeof delta === 'string' ? delta.length : undefined;
    this.events.state.characters += OVERHEAD_CHARACTERS + members.length;
    learnArguments(this.state, event);
    this.events.write(type, members === '' ? position : `${position},${members}`, deltaLength);
  }

  protected override finish(status: ItemStatus): Item {
    const { item } = this.state;
    return item['status'] === 'in_progress' ? { ...item, status } : item;
  }

  protected override finishAs(final: Item): Item {
    return final;
  }

  protected override get type(): string {
    return this.state.item.type;
  }

  protected override atStart(): Item {
    return this.state.item;
  }
}

/** Applies a passed-on event to its item; returns its characters of output. */
export function foldPassedEvent(state: PassThroughState, event: WireEvent): number {
  learnArguments(state, event);
  return OVERHEAD_CHARACTERS + toPayload(event).length;
}

/** A call that does not come to its end still says what was called. */
function learnArguments(state: PassThroughState, { type, arguments: given }: Readonly<Record<string, unknown>>): void {
  if (typeof given !== 'string' || !String(type).endsWith('_arguments.done')) return;
  if (state.item['arguments'] === '') state.item = { ...state.item, arguments: given };
}

function requireOwnEvent(itemType: string, type: string, event: Readonly<Record<string, unknown>>): void {
  if (!hasEvent(itemType, type)) throw new ProviderContractError(`an item of type ${itemType} has no event ${type}`);
  const missing = missingMember(type, event);
  if (missing === null) return;
  throw new ProviderContractError(`the member ${missing.name} of ${type} must be of type ${missing.type}`);
}

/** The payload of an event as members of a JSON object. */
function toPayload(event: Readonly<Record<string, unknown>>): string {
  // Without a prototype: an upstream may send a member `__proto__`.
  let payload: Record<string, unknown> | null = null;
  for (const member of Object.keys(event)) {
    if (!ENVELOPE.has(member)) (payload ??= Object.create(null) as Record<string, unknown>)[member] = event[member];
  }
  return payload === null ? '' : JSON.stringify(payload).slice(1, -1);
}
