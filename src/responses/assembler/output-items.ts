import { type ForeignItem, type IdGenerator, renameItemId, toClientItemId } from '../../protocol/index.js';
import type { CalledTool } from '../../providers/index.js';
import { CallItem, callHeadOf } from './call-item.js';
import type { EventWriter } from './event-writer.js';
import { MessageItem } from './message-item.js';
import {
  type ItemOptions,
  type ItemStatus,
  type OutputItem,
  type PassedItem,
  ProviderContractError,
  requireText,
} from './output-item.js';
import { isNative, ownForm, writtenForm } from './own-form.js';
import { PassThroughItem } from './pass-through-item.js';
import { ReasoningItem } from './reasoning-item.js';
import type { CallState, OpenItemState } from './state.js';

/** A kind of item that opens with its first event. */
interface ItemKind<T extends OutputItem> {
  new (...args: never[]): T;
  begin(options: ItemOptions): T;
}

/** What items are made from besides the events of their model. */
interface ItemContext {
  readonly ids: IdGenerator;
  /** Whether an item before the response has an id. */
  readonly isInContext: (id: string) => boolean;
  /** Whether a call runs asynchronously. */
  readonly isAsync: (call: CalledTool) => boolean;
}

/** The output items of a response, open by key and finished, in the order in which they began. */
export class OutputItems {
  /** The item that events without a key refer to. */
  private keyless: OutputItem | null = null;
  private readonly keyed = new Map<string, OutputItem>();
  /** The ids of the response's items; null until an upstream's id has to differ from them. */
  private usedIds: Set<string> | null = null;

  /** Reopens the open items of the state. */
  constructor(
    private readonly events: EventWriter,
    private readonly surroundings: ItemContext,
  ) {
    for (const [index, item] of events.state.items.entries()) {
      if (item.kind !== 'finished') this.hold(reopen(events, index, item));
    }
  }

  /** The open item of a key. A keyless event of another kind closes the current item and begins a new one. */
  at<T extends OutputItem>(key: string | undefined, kind: ItemKind<T>): T {
    const current = this.find(key);
    if (current instanceof kind) return current;
    if (current !== null && key !== undefined) throw wrongKind(key);
    return this.begin(key, (options) => kind.begin(options));
  }

  /** The open item of a key. Throws ProviderContractError unless it exists and has the kind. */
  existing<T extends OutputItem>(key: string | undefined, kind: new (...args: never[]) => T): T {
    const current = this.find(key);
    if (!(current instanceof kind)) throw wrongKind(key);
    return current;
  }

  /** The open call of a key. Throws ProviderContractError unless it exists and has the type. */
  call(key: string | undefined, type: CallState['type']): CallItem {
    const current = this.existing(key, CallItem);
    if (current.state.type !== type) throw wrongKind(key);
    return current;
  }

  /** Opens an item; without a key it closes the previous keyless one. */
  begin<T extends OutputItem>(key: string | undefined, make: (options: ItemOptions) => T): T {
    if (key === undefined) this.end(key);
    else if (this.keyed.has(key)) throw new ProviderContractError(`the key ${key} is already in use`);
    const { events } = this;
    const { ids, isAsync } = this.surroundings;
    const { items } = events.state;
    const item = make({ events, ids, isAsync, outputIndex: items.length, key: key ?? null });
    items.push(item.state);
    this.usedIds?.add(item.state.id);
    this.hold(item);
    return item;
  }

  /** Opens an item as an upstream sends it. Throws ProviderContractError for a call with an invalid name or call id. */
  open(key: string, item: ForeignItem): void {
    requireText(item.type, 'the type of an item');
    this.begin(key, (options) => beginPassed(options, { id: this.clientIdOf(item), item }));
  }

  /** Closes the item of a key in its final form. Throws ProviderContractError unless it is the one that was opened. */
  close(key: string, item: ForeignItem): void {
    const open = this.find(key);
    if (open === null) throw wrongKind(key);
    open.requireSame(item);
    this.finish(open, 'completed', item);
  }

  /** Characters of the item of a key, as far as its events have built it: its final form repeats them. */
  builtLength(key: string): number {
    const state = this.find(key)?.state;
    return state === undefined || state.kind === 'other' ? 0 : JSON.stringify(ownForm(state, undefined)).length;
  }

  /** Closes the item of a key; without a key, the keyless one if there is one. */
  end(key: string | undefined): void {
    const item = this.find(key);
    if (item !== null) this.finish(item, 'completed');
    else if (key !== undefined) throw wrongKind(key);
  }

  /** Closes every open item. */
  closeAll(status: ItemStatus): void {
    for (const item of this.openInOrder()) this.finish(item, status);
  }

  /**
   * Closes every open item as incomplete and leaves it out of the output, with `from` also the finished ones from that output_index on. The
   * notes come first: wherever the log ends, none of these items is taken for a finished one.
   */
  dropAll(from?: number): void {
    const { state } = this.events;
    const open = this.openInOrder().map(({ outputIndex }) => outputIndex);
    for (const outputIndex of from === undefined ? open : state.items.keys().drop(from)) {
      if (state.dropped.includes(outputIndex)) continue;
      state.dropped.push(outputIndex);
      this.events.note({ type: 'dropped', outputIndex });
    }
    this.cutAll();
  }

  /** Ends every open item as interrupted (protocol §6.2), and leaves it out of the output of the response. */
  discardAll(responseId: string): void {
    const { state } = this.events;
    for (const { outputIndex, state: open } of this.openInOrder()) {
      const item = writtenForm(open);
      state.dropped.push(outputIndex);
      state.items[outputIndex] = { kind: 'finished', item, json: '' };
      const place = `"response_id":"${responseId}","item_id":"${item.id}","output_index":${outputIndex}`;
      this.events.write('response.output_item.interrupted', `,${place}`);
    }
    this.keyless = null;
    this.keyed.clear();
  }

  /** Closes every open item as incomplete. Never throws: an item that cannot be serialised is omitted. */
  cutAll(): void {
    for (const item of this.openInOrder()) {
      try {
        this.finish(item, 'incomplete');
      } catch {
        // The turn has already failed with its own error.
      }
    }
  }

  private find(key: string | undefined): OutputItem | null {
    return key === undefined ? this.keyless : (this.keyed.get(key) ?? null);
  }

  private hold(item: OutputItem): void {
    const { key } = item.state;
    if (key === null) this.keyless = item;
    else this.keyed.set(key, item);
  }

  private finish(item: OutputItem, status: ItemStatus, final?: ForeignItem): void {
    const { key } = item.state;
    if (key === null) this.keyless = null;
    else this.keyed.delete(key);
    this.events.state.items[item.outputIndex] = item.close(status, final);
  }

  /** Upstreams may use an id again: in another response of the chain, or in another pass of this one. */
  private clientIdOf({ id: upstreamId, type }: ForeignItem): string {
    const { ids, isInContext } = this.surroundings;
    const id = toClientItemId(upstreamId, type, ids);
    this.usedIds ??= new Set(
      this.events.state.items.map((state) => (state.kind === 'finished' ? state.item : state).id),
    );
    return this.usedIds.has(id) || isInContext(id) ? renameItemId(upstreamId, type, ids) : id;
  }

  private openInOrder(): readonly OutputItem[] {
    const open = this.keyless === null ? [] : [this.keyless];
    if (this.keyed.size === 0) return open;
    return [...open, ...this.keyed.values()].sort((one, other) => one.outputIndex - other.outputIndex);
  }
}

function beginPassed(options: ItemOptions, passed: PassedItem): OutputItem {
  const { item } = passed;
  if (!isNative(item.type)) return PassThroughItem.begin(options, passed);
  switch (item.type) {
    case 'message':
      return MessageItem.begin(options, passed);
    case 'reasoning':
      return ReasoningItem.begin(options, passed);
    case 'function_call':
    case 'custom_tool_call':
      return CallItem.begin(options, callHeadOf(item, item.type), passed);
  }
}

function reopen(events: EventWriter, index: number, state: OpenItemState): OutputItem {
  switch (state.kind) {
    case 'message':
      return new MessageItem(events, index, state);
    case 'reasoning':
      return new ReasoningItem(events, index, state);
    case 'call':
      return new CallItem(events, index, state);
    case 'other':
      return new PassThroughItem(events, index, state);
  }
}

function wrongKind(key: string | undefined): ProviderContractError {
  const place = key === undefined ? 'the current item' : `the item ${key}`;
  return new ProviderContractError(`${place} is not open, or not of the kind that this event writes to`);
}
