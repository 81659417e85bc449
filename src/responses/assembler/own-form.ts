import type { ContentPart, ForeignItem, Item } from '../../protocol/index.js';
import type { CallState, MessageState, NativeState, OpenItemState, PartState, ReasoningState } from './state.js';

/** The member of a call that holds its payload. */
export const PAYLOADS = { function_call: 'arguments', custom_tool_call: 'input' } as const;

/** The members that the service builds itself, by item type. */
const OWN_MEMBERS: Readonly<Record<NativeType, ReadonlySet<string>>> = {
  message: new Set(['id', 'type', 'status', 'role', 'content']),
  reasoning: new Set(['id', 'type', 'status', 'summary', 'content']),
  function_call: new Set(['id', 'type', 'status', 'call_id', 'name', 'namespace', 'arguments']),
  custom_tool_call: new Set(['id', 'type', 'status', 'call_id', 'name', 'namespace', 'input']),
};

/** The item types that the service builds from events of its own. */
export type NativeType = 'message' | 'reasoning' | CallState['type'];

/** Whether the service builds items of a type from events of its own; all others pass through. */
export function isNative(type: string): type is NativeType {
  return Object.hasOwn(OWN_MEMBERS, type);
}

/** The members of an upstream's item that the service does not build; null for none. */
export function headOf(item: ForeignItem, type: NativeType): NativeState['head'] {
  const own = OWN_MEMBERS[type];
  const others = Object.entries(item).filter(([member]) => !own.has(member));
  return others.length === 0 ? null : Object.fromEntries(others);
}

/** Characters of output in the members that open an item. */
export function openingLength(state: OpenItemState): number {
  if (state.kind === 'other') return JSON.stringify(state.item).length;
  const head = state.head === null ? 0 : JSON.stringify(state.head).length;
  if (state.kind !== 'call') return head;
  return head + state.name.length + (state.namespace ?? '').length + state.callId.length;
}

/** Characters of output that the end of an item adds to its events. `length` is that of the finished item as JSON. */
export function endLength(state: OpenItemState, { status }: Item, length: number): number {
  if (state.kind === 'other') return length;
  return Math.max(0, length - JSON.stringify(ownForm(state, status)).length);
}

/** An item as its events have built it. */
export function ownForm(state: NativeState, status: unknown): Item {
  switch (state.kind) {
    case 'message':
      return messageOf(state, status);
    case 'reasoning':
      return reasoningOf(state, status);
    case 'call':
      return callOf(state, status);
  }
}

/** An open item with all that was written of it, also in parts that are not closed. */
export function writtenForm(state: OpenItemState): Item {
  switch (state.kind) {
    case 'other':
      return state.item;
    case 'call':
      return ownForm(state, 'incomplete');
    case 'message': {
      const { part, other } = state;
      const open = part === null ? other : toContentPart(part);
      return ownForm({ ...state, content: open === null ? state.content : [...state.content, open] }, 'incomplete');
    }
    case 'reasoning': {
      const { summary, text } = state;
      const summaries = summary === null ? [] : [{ type: 'summary_text', text: summary.text }];
      const content = text === null ? [] : [{ type: 'reasoning_text', text: text.text }];
      const whole = { summaries: [...state.summaries, ...summaries], content: [...state.content, ...content] };
      return ownForm({ ...state, ...whole }, 'incomplete');
    }
  }
}

/** A part of a message as its events have built it. */
export function toContentPart({ type, text, annotations, logprobs }: PartState): ContentPart {
  if (type === 'refusal') return { type, refusal: text };
  return { type, text, annotations, logprobs };
}

function messageOf({ id, head, content }: MessageState, status: unknown): Item {
  return { id, type: 'message', status, role: 'assistant', ...head, content };
}

function reasoningOf({ id, head, summaries, content, encrypted }: ReasoningState, status: unknown): Item {
  // What an upstream encrypts before the end is preliminary.
  const { encrypted_content: _, ...others } = head ?? {};
  return {
    id,
    type: 'reasoning',
    status,
    ...others,
    summary: summaries,
    ...(content.length === 0 ? {} : { content }),
    ...(encrypted === null ? {} : { encrypted_content: encrypted }),
  };
}

function callOf({ id, type, callId, name, namespace, head, text }: CallState, status: unknown): Item {
  return {
    id,
    type,
    status,
    call_id: callId,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...head,
    [PAYLOADS[type]]: text,
  };
}
