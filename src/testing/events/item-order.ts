import { TEXT_FAMILIES, type TextFamily, textFamilyOf } from './event-fields.js';
import { isSameJson, requireRule, type WireEvent } from './rule.js';

/** A text in progress: of a part of the item, or of the payload of a call. */
interface OpenText {
  readonly partType: string | null;
  text: string;
  readonly logprobs: unknown[];
  readonly annotations: unknown[];
  textDone: boolean;
  /** A part that SDKs do not know, which has no events of its own. */
  readonly whole: WireEvent | null;
  /** The part of `*_part.done`. */
  part: WireEvent | null;
}

type PartList = 'content' | 'summary';

/** The members of an added item, by native type. */
const EMPTY_PAYLOADS: ReadonlyMap<string, Readonly<Record<string, unknown>>> = new Map<string, Record<string, unknown>>(
  [
    ['message', { status: 'in_progress', role: 'assistant', content: [] }],
    ['reasoning', { summary: [] }],
    ['function_call', { status: 'in_progress', arguments: '' }],
    ['custom_tool_call', { status: 'in_progress', input: '' }],
  ],
);

const CALL_PAYLOADS: ReadonlyMap<string, string> = new Map([
  ['function_call', 'arguments'],
  ['custom_tool_call', 'input'],
]);

/** Checks the events of one output item, from `output_item.added` to `output_item.done`. */
export class ItemOrder {
  readonly id: string;
  /** The item of `output_item.done`, if it has arrived. */
  done: WireEvent | null = null;
  /** Whether it was discarded before its end. */
  isInterrupted = false;
  private readonly parts: Readonly<Record<PartList, OpenText[]>> = { content: [], summary: [] };
  private readonly payload = newText(null);

  constructor(private readonly added: WireEvent) {
    this.id = added['id'] as string;
    for (const [member, value] of Object.entries(EMPTY_PAYLOADS.get(added.type) ?? {})) {
      requireRule(isSameJson(added[member], value), `${member} of an added ${added.type} must be ${show(value)}`);
    }
    if (added.type === 'reasoning') {
      requireRule(isSameJson(added['content'] ?? [], []), 'content of added reasoning must be empty');
      requireRule((added['status'] ?? 'in_progress') === 'in_progress', 'added reasoning must be in_progress');
    }
    if (CALL_PAYLOADS.has(added.type)) {
      requireRule(isText(added['call_id']) && isText(added['name']), 'a call must have a call_id and a name');
    }
  }

  /** Takes an event that refers to this item. */
  accept(event: WireEvent): void {
    requireRule(this.done === null && !this.isInterrupted, `the item ${this.id} is done already`);
    if (event.type === 'response.output_item.interrupted') {
      this.isInterrupted = true;
      return;
    }
    const text = textFamilyOf(event.type);
    if (text !== null) this.acceptText(event, ...text);
    else if (event.type === 'response.output_item.done') this.finish(event['item'] as WireEvent);
    else if (event.type.startsWith('response.content_part.')) this.acceptPart(event, 'content');
    else if (event.type.startsWith('response.reasoning_summary_part.')) this.acceptPart(event, 'summary');
    else if (event.type === 'response.output_text.annotation.added') this.annotate(event);
    else requireRule(isOwnEvent(event.type, this.added.type), `an item of type ${this.added.type} has no such event`);
  }

  private acceptPart(event: WireEvent, list: PartList): void {
    const index = event[`${list}_index`];
    const part = event['part'] as WireEvent;
    if (event.type.endsWith('.done')) {
      this.closePart(this.partAt(list, index), part);
      return;
    }
    const family = [...TEXT_FAMILIES.values()].find((candidate) => candidate.part?.type === part.type);
    const isUnknown = family === undefined && list === 'content' && this.added.type === 'message';
    if (!isUnknown) {
      requireRule(family?.part?.index === `${list}_index`, `a part of type ${part.type} does not belong here`);
      const { type } = this.added;
      requireRule(family.item === type, `an item of type ${type} has no part of type ${part.type}`);
      requireRule(isSameJson(part, emptyPart(family)), `an added part must be ${show(emptyPart(family))}`);
    }
    const parts = this.parts[list];
    requireRule(index === parts.length, `${list}_index must be ${parts.length}, not ${String(index)}`);
    requireRule(parts.at(-1)?.part !== null, 'the part before must be done first');
    parts.push(newText(part.type, isUnknown ? part : null));
  }

  private closePart(open: OpenText, part: WireEvent): void {
    requireRule(open.part === null, 'the part is done already');
    if (open.whole !== null) {
      requireRule(isSameJson(part, open.whole), 'a part of an unknown type must be done as it was added');
      open.part = part;
      return;
    }
    requireRule(open.textDone, 'the text of a part must be done before the part');
    requireRule(part.type === open.partType, `the part must stay ${open.partType ?? ''}`);
    const text = part.type === 'refusal' ? part['refusal'] : part['text'];
    requireRule(text === open.text, 'the text of a done part must be its deltas joined');
    if (part.type === 'output_text') {
      requireRule(isSameJson(part['annotations'], open.annotations), 'annotations of a done part must be those added');
      requireRule(isSameJson(part['logprobs'], open.logprobs), 'logprobs of a done part must be those of its deltas');
    }
    open.part = part;
  }

  private acceptText(event: WireEvent, familyName: string, verb: string): void {
    const family = TEXT_FAMILIES.get(familyName);
    requireRule(family?.item === this.added.type, `an item of type ${this.added.type} has no such event`);
    const open = family.part === undefined ? this.payload : this.partOf(family.part, event);
    requireRule(!open.textDone, 'the text is done already');
    const logprobs = (event['logprobs'] ?? []) as unknown[];
    if (verb === 'delta') {
      open.text += event['delta'] as string;
      open.logprobs.push(...logprobs);
      return;
    }
    requireRule(event[family.done] === open.text, `${family.done} must be the deltas joined`);
    requireRule(isSameJson(logprobs, open.logprobs), 'logprobs must be those of the deltas');
    open.textDone = true;
  }

  private annotate(event: WireEvent): void {
    const open = this.partAt('content', event['content_index']);
    requireRule(open.partType === 'output_text' && !open.textDone, 'an annotation needs an open output_text part');
    const index = event['annotation_index'];
    requireRule(index === open.annotations.length, `annotation_index must be ${open.annotations.length}`);
    open.annotations.push(event['annotation']);
  }

  private partOf(expected: NonNullable<TextFamily['part']>, event: WireEvent): OpenText {
    const open = this.partAt(expected.index === 'content_index' ? 'content' : 'summary', event[expected.index]);
    requireRule(open.partType === expected.type, `the part is of type ${open.partType ?? ''}, not ${expected.type}`);
    return open;
  }

  private partAt(list: PartList, index: unknown): OpenText {
    const open = this.parts[list][index as number];
    requireRule(open !== undefined, `there is no part at ${list}_index ${String(index)}`);
    return open;
  }

  private finish(item: WireEvent): void {
    for (const member of ['id', 'type', 'call_id', 'name', 'role'] as const) {
      requireRule(item[member] === this.added[member], `${member} must stay ${String(this.added[member])}`);
    }
    const payload = CALL_PAYLOADS.get(item.type);
    if (payload !== undefined) {
      requireRule(this.payload.textDone, `${payload} must be done before the item`);
      requireRule(item[payload] === this.payload.text, `${payload} of a done item must be the deltas joined`);
    }
    if (item.type === 'message' || item.type === 'reasoning') {
      this.requireParts('content', item['content'] ?? []);
      this.requireParts('summary', item['summary'] ?? []);
    }
    if (EMPTY_PAYLOADS.has(item.type) && (item.type !== 'reasoning' || item['status'] !== undefined)) {
      const { status } = item;
      requireRule(status === 'completed' || status === 'incomplete', 'a done item must be completed or incomplete');
    }
    this.done = item;
  }

  private requireParts(list: PartList, value: unknown): void {
    requireRule(
      this.parts[list].every(({ part }) => part !== null),
      'every part must be done before the item',
    );
    const parts = this.parts[list].map(({ part }) => part);
    requireRule(isSameJson(value, parts), `${list} of a done item must be its done parts`);
  }
}

function newText(partType: string | null, whole: WireEvent | null = null): OpenText {
  return { partType, text: '', logprobs: [], annotations: [], textDone: false, whole, part: null };
}

function emptyPart({ part }: TextFamily): WireEvent {
  const type = part?.type ?? '';
  if (type === 'output_text') return { type, text: '', annotations: [], logprobs: [] };
  return { type, [part?.text ?? '']: '' };
}

/** Whether an event such as `response.web_search_call.searching` belongs to an item of this type. */
function isOwnEvent(eventType: string, itemType: string): boolean {
  const family = eventType.split('.')[1] ?? '';
  const parentType = new Map([
    ['shell_call_command', 'shell_call'],
    ['shell_call_output_content', 'shell_call_output'],
  ]).get(family);
  return (parentType ?? family) === itemType;
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function show(value: unknown): string {
  return JSON.stringify(value);
}
