import { isObject, objectsIn } from '../../../validation/index.js';

type Members = Readonly<Record<string, unknown>>;

/** What an upstream demands back with an assistant message, by the place at which it came and has to stand again. */
export interface OpaqueMembers {
  /** Members of the message, such as `reasoning_details`. */
  readonly message?: Members;
  /** Parts of its content before the text: thinking with a signature. */
  readonly content?: readonly Members[];
  /** Members of its last text part. */
  readonly text?: Members;
  /** The member in which its reasoning came, where what it demands back is void without the reasoning. */
  readonly thoughts?: string;
}

/** What a server demands back with a call, in its places. */
export interface OpaqueCall {
  readonly call?: Members;
  readonly function?: Members;
}

/** The members of deltas and messages that hold reasoning. Some upstreams repeat the same text in several of them: the first one counts. */
export const THOUGHTS = [
  'reasoning_content',
  'reasoning',
  'reasoning_details',
  'reasoning_text',
  'thinking',
  'thinking_blocks',
  'thinking_content',
  'thought',
  'thoughts',
] as const;

/** Members of messages that are lists, which streams send entry by entry, or an entry in pieces. */
const LISTS: ReadonlySet<string> = new Set(['reasoning_details', 'thinking_blocks']);

/** Members of text parts, of calls and of their functions, and of messages. */
const ANYWHERE = ['extra_content', 'provider_specific_fields', 'signature', 'thought_signature'];
const OF_PARTS: ReadonlySet<string> = new Set(ANYWHERE);

/** Members of messages. The strings among them belong to the reasoning. */
const OF_MESSAGES: ReadonlySet<string> = new Set([
  ...ANYWHERE,
  ...LISTS,
  'reasoning_opaque',
  'reasoning_signature',
  'thinking_signature',
  'encrypted_content',
]);

/** Types of parts that stand in the content again. */
const PARTS: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking']);

/** Texts of an entry that streams send in pieces. */
const TEXTS: readonly string[] = ['text', 'summary', 'thinking'];

/** What a delta or a message demands back; undefined for nothing, as most deltas do. */
export function readMembers(delta: Members): OpaqueMembers | undefined {
  const message = pick(delta, OF_MESSAGES);
  const parts = Array.isArray(delta.content) ? objectsIn(delta.content) : [];
  const content = parts.filter(isOpaquePart);
  const text = parts.map((part) => (part.type === 'text' ? pick(part, OF_PARTS) : undefined)).findLast(isThere);
  if (message === undefined && content.length === 0 && text === undefined) return undefined;
  return {
    ...(message === undefined ? {} : { message }),
    ...(content.length === 0 ? {} : { content }),
    ...(text === undefined ? {} : { text }),
  };
}

/** What an entry of `tool_calls` demands back; undefined for nothing. */
export function readCallMembers(entry: Members): OpaqueCall | undefined {
  const call = pick(entry, OF_PARTS);
  const func = isObject(entry.function) ? pick(entry.function, OF_PARTS) : undefined;
  if (call === undefined && func === undefined) return undefined;
  return { ...(call === undefined ? {} : { call }), ...(func === undefined ? {} : { function: func }) };
}

/** Whether an entry of `tool_calls` says nothing of a call but what is demanded back. */
export function isOnlyOpaque(entry: Members): boolean {
  return ['index', 'id', 'function'].every((member) => entry[member] == null) && readCallMembers(entry) !== undefined;
}

/** Two pieces of one message. */
export function joinMembers(one: OpaqueMembers, other: OpaqueMembers): OpaqueMembers {
  const { message = {} } = one;
  const added = Object.entries(other.message ?? {}).map(([name, value]) => [
    name,
    joinMember(name, message[name], value),
  ]);
  const content = joinLists(one.content ?? [], other.content ?? []);
  const text = join(one.text, other.text) as Members | undefined;
  const thoughts = one.thoughts ?? other.thoughts;
  return {
    message: { ...message, ...(Object.fromEntries(added) as Members) },
    ...(content.length === 0 ? {} : { content }),
    ...(text === undefined ? {} : { text }),
    ...(thoughts === undefined ? {} : { thoughts }),
  };
}

/** Two pieces of one call. */
export function joinCallMembers(one: OpaqueCall | undefined, other: OpaqueCall): OpaqueCall {
  return join(one, other) as OpaqueCall;
}

/** Whether what a message demands back is void without its reasoning: a signature that does not hold the text. */
export function needsThoughts({ message = {} }: OpaqueMembers): boolean {
  return Object.values(message).some((value) => typeof value === 'string');
}

/** Only the members that are known to be demanded back: nothing else may get into a request. */
export function ofKnownMembers({ message, content, text, thoughts }: OpaqueMembers): OpaqueMembers {
  return {
    ...readMembers({ ...message, content: [...objectsIn(content), { ...(isObject(text) ? text : {}), type: 'text' }] }),
    ...(typeof thoughts === 'string' ? { thoughts } : {}),
  };
}

function joinMember(name: string, one: unknown, other: unknown): unknown {
  return LISTS.has(name) ? joinLists(objectsIn(one), objectsIn(other)) : join(one, other);
}

/** Objects are joined member by member; of all else the later one counts. */
function join(one: unknown, other: unknown): unknown {
  if (other === undefined) return one;
  if (!isObject(one) || !isObject(other)) return other;
  const added = Object.entries(other).map(([name, value]) => [name, join(one[name], value)]);
  return { ...one, ...Object.fromEntries(added) } as Members;
}

/** Entries of one list are different ones; the next list may go on with them. */
function joinLists(one: readonly Members[], other: readonly Members[]): readonly Members[] {
  const joined = [...one];
  for (const [position, entry] of other.entries()) {
    const place = placeOf(entry, position, one);
    const before = joined[place];
    if (before !== undefined && isContinued(before, entry)) joined[place] = joinEntries(before, entry);
    else joined.push(entry);
  }
  return joined;
}

/** The place of the entry that another one may go on with; -1 for none. */
function placeOf({ type, index }: Members, position: number, list: readonly Members[]): number {
  if (index != null) return list.findLastIndex((entry) => entry.index === index && entry.type === type);
  return position === 0 && list.at(-1)?.type === type ? list.length - 1 : -1;
}

/** A signature ends its entry, and what is encrypted is sent at once. */
function isContinued(entry: Members, next: Members): boolean {
  if (entry.id != null && next.id != null && entry.id !== next.id) return false;
  if (entry.data != null || next.data != null) return false;
  return !isThere(entry.signature) || TEXTS.every((name) => !isThere(next[name]));
}

function joinEntries(entry: Members, next: Members): Members {
  const added = Object.entries(next).map(([name, value]) => {
    const before = entry[name];
    if (!isThere(value)) return [name, before ?? value];
    const isPiece = TEXTS.includes(name) && typeof before === 'string' && typeof value === 'string';
    return [name, isPiece ? before + value : value];
  });
  return { ...entry, ...(Object.fromEntries(added) as Members) };
}

function isOpaquePart({ type, signature, data }: Members): boolean {
  return PARTS.has(type) && (isThere(signature) || isThere(data));
}

function pick(members: Members, names: ReadonlySet<string>): Members | undefined {
  let picked: Record<string, unknown> | undefined;
  for (const name in members) {
    if (!names.has(name) || !holdsText(members[name])) continue;
    const value = name === 'provider_specific_fields' ? signaturesIn(members[name]) : members[name];
    if (value !== undefined) (picked ??= {})[name] = value;
  }
  return picked;
}

/** A proxy puts all that is foreign to it there, such as citations. */
function signaturesIn(fields: unknown): Members | undefined {
  if (!isObject(fields)) return undefined;
  const signatures = Object.entries(fields).filter(([name, value]) => /signature/i.test(name) && holdsText(value));
  return signatures.length === 0 ? undefined : Object.fromEntries(signatures);
}

/** Whether anything in a value could be a signature: flags alone, such as that a text is a thought, are not demanded back. */
function holdsText(value: unknown): boolean {
  if (typeof value === 'string') return value !== '';
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsText);
}

function isThere(value: unknown): boolean {
  return value != null && value !== '';
}
