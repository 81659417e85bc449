import type { Item, StreamEvent } from '../../protocol/index.js';
import type { LogNote } from '../../state/index.js';
import { foldCall, readCall } from './call-item.js';
import { emptyMessage, foldMessage } from './message-item.js';
import type { WireEvent } from './output-item.js';
import { endLength, headOf, openingLength } from './own-form.js';
import { foldPassedEvent } from './pass-through-item.js';
import { emptyReasoning, foldReasoning } from './reasoning-item.js';
import {
  addTokens,
  type AssemblerNote,
  type AssemblerState,
  emptyState,
  type ItemState,
  keepItem,
  newPass,
  type OpenItemState,
  OVERHEAD_CHARACTERS,
  type TextState,
  toFinish,
} from './state.js';

/** The members of an event that are read: its type, number and JSON text without the closing brace. */
type WrittenEvent = Pick<StreamEvent, 'type' | 'sequenceNumber' | 'json'>;

/** Precedes the item in the text of `output_item.done`. */
const BEFORE_ITEM = ',"item":';

/** What an assembler has written: events and notes, both in order. */
export interface WrittenLog {
  readonly events: readonly WrittenEvent[];
  readonly notes: readonly LogNote[];
}

/** Rebuilds the state of an assembler from its log, which may end anywhere: unfinished items stay open. */
export function foldEvents({ events, notes }: WrittenLog): AssemblerState {
  const state = emptyState();
  let folded = 0;
  const foldNotes = (before: number): void => {
    for (let note = notes[folded]; note !== undefined && note.before <= before; note = notes[folded]) {
      foldNote(state, note as AssemblerNote);
      folded += 1;
    }
  };
  for (const event of events) {
    foldNotes(event.sequenceNumber);
    foldEvent(state, event);
    state.sequenceNumber = event.sequenceNumber + 1;
  }
  foldNotes(state.sequenceNumber);
  return state;
}

function foldNote(state: AssemblerState, note: AssemblerNote): void {
  const pass = state.passes.at(-1);
  switch (note.type) {
    case 'pass':
      state.passes.push(newPass(state.items.length));
      return;
    case 'conversation':
      state.conversationVersion = note.version;
      return;
    case 'finish':
      if (pass !== undefined) pass.finish = toFinish(note);
      return;
    case 'dropped':
      state.dropped.push(note.outputIndex);
      return;
    case 'given':
      if (pass !== undefined) pass.isAnswered = true;
      state.given.push({ after: state.items.length - state.dropped.length, items: note.items });
      return;
    case 'kept':
      keepItem(state, note.item);
      return;
    case 'hidden':
      for (const item of note.items) keepItem(state, item);
      return;
    case 'searches':
      state.searches += note.count;
      return;
    case 'asked':
      if (pass !== undefined) pass.asked = note.tokens;
      return;
    case 'usage':
      if (pass !== undefined) pass.usage = addTokens(pass.usage, note.tokens);
      return;
    case 'origin':
      if (pass !== undefined) pass.origin = note.origin;
      return;
    case 'key':
      state.nextKey = note.key;
      return;
    case 'half': {
      const text = openTextOf(state.items[note.outputIndex], note.isSummary);
      if (text !== null) text.half = note.unit;
      return;
    }
    case 'encrypted': {
      const item = state.items[note.outputIndex];
      if (item?.kind === 'reasoning') item.encrypted = note.content;
      state.characters += note.content.length;
    }
  }
}

/** The text, or the summary, that an item takes deltas for; null without one. */
function openTextOf(item: ItemState | undefined, isSummary: boolean): TextState | null {
  switch (item?.kind) {
    case 'message':
      return item.part;
    case 'reasoning':
      return isSummary ? item.summary : item.text;
    case 'call':
      return item;
    default:
      return null;
  }
}

function foldEvent(state: AssemblerState, { type, json }: WrittenEvent): void {
  switch (type) {
    case 'response.created':
      state.opening = 'created';
      return;
    case 'response.queued':
      state.opening = 'queued';
      return;
    case 'response.in_progress':
      state.opening = 'in_progress';
      return;
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
      state.ended = true;
      return;
    default:
      foldItemEvent(state, JSON.parse(`${json}}`) as WireEvent, json);
  }
}

function foldItemEvent(state: AssemblerState, event: WireEvent, json: string): void {
  const { items } = state;
  const index = event.output_index;
  const current = items[index];
  if (event.type === 'response.output_item.added') {
    const opened = openItem(event.item as Item, state.nextKey);
    items[index] = opened;
    state.nextKey = null;
    state.characters += OVERHEAD_CHARACTERS + openingLength(opened);
  } else if (event.type === 'response.output_item.done') {
    const item = event.item as Item;
    const itemJson = json.slice(json.indexOf(BEFORE_ITEM) + BEFORE_ITEM.length);
    if (current !== undefined && current.kind !== 'finished') {
      state.characters += endLength(current, item, itemJson.length);
    }
    items[index] = { kind: 'finished', item, json: itemJson };
  } else if (current !== undefined && current.kind !== 'finished') {
    state.characters += foldInto(current, event);
  }
}

function openItem(item: Item, key: string | null): OpenItemState {
  switch (item.type) {
    case 'message':
      return emptyMessage(item.id, key, headOf(item, item.type));
    case 'reasoning':
      return emptyReasoning(item.id, key, headOf(item, item.type));
    case 'function_call':
    case 'custom_tool_call':
      return readCall(item, key);
    default:
      return { kind: 'other', id: item.id, key, item };
  }
}

function foldInto(item: OpenItemState, event: WireEvent): number {
  switch (item.kind) {
    case 'message':
      return foldMessage(item, event);
    case 'reasoning':
      return foldReasoning(item, event);
    case 'call':
      return foldCall(item, event);
    case 'other':
      return foldPassedEvent(item, event);
  }
}
