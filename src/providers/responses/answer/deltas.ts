import { isObject } from '../../../validation/index.js';
import type { Annotation, Logprob } from '../../../protocol/index.js';
import type { ForeignEvent } from '../../model-event.js';
import { notUnderstood } from '../upstream-error.js';
import { isUnnamed, type ResponsesAnswer, type Handler } from './answer.js';
import type { HeldPiece } from './held-payloads.js';
import type { ItemProgress } from './item-progress.js';

/**
 * The delta of an event; undefined if it is none, or empty: an empty one changes nothing. Some servers write it as an object with the text, as a
 * number or a boolean, or as the text of the event; pieces of arguments that are parsed JSON are written again.
 */
function deltaOf(answer: ResponsesAnswer, event: ForeignEvent): string | undefined {
  const { delta } = event;
  const text = typeof delta === 'string' ? delta : otherDeltaOf(event);
  if (text === undefined) answer.leaveOut(`a delta of '${event.type}' that is no text`);
  return text === '' ? undefined : text;
}

function otherDeltaOf({ delta, text, arguments: payload }: ForeignEvent): string | undefined {
  if (typeof delta === 'number' || typeof delta === 'boolean') return String(delta);
  const inner = isObject(delta) ? [delta.text, delta.arguments, delta.content, delta.value] : [text, payload];
  return inner.find((each) => typeof each === 'string');
}

/** The open item that an event writes to, if it has the type. */
function itemOf(answer: ResponsesAnswer, event: ForeignEvent, type: string): ItemProgress | undefined {
  const item = openOf(answer, event, type);
  if (item === undefined) answer.drop();
  return item;
}

/** The item that a delta of text writes to. Some servers announce none: then its first delta begins it. */
function textItemOf(
  answer: ResponsesAnswer,
  event: ForeignEvent,
  type: 'message' | 'reasoning',
): ItemProgress | undefined {
  const { output_index: index, item_id: id } = event;
  const known = isUnnamed(event) ? answer.items.unnamedOf(type) : answer.items.meant(index, id, type);
  const item = known ?? answer.begin(event, type);
  if (item?.isOpen === true && item.type === type) return item;
  if (item?.isOpen === false) answer.drop();
  else answer.leaveOut(`'${event.type}' of another item`);
  return undefined;
}

/** The open item that an event means, if it has the type. */
function openOf(answer: ResponsesAnswer, event: ForeignEvent, type: string): ItemProgress | undefined {
  const { output_index: index, item_id: id } = event;
  const item = answer.items.meant(index, id, type);
  return item?.isOpen === true && item.type === type ? item : undefined;
}

const text: Handler = (answer, event) => {
  const delta = deltaOf(answer, event);
  const item = delta === undefined ? undefined : textItemOf(answer, event, 'message');
  if (delta === undefined || item === undefined) return;
  const part = item.messagePart(event.content_index, 'output_text');
  const { key } = item;
  const { logprobs } = event;
  if (part === null) answer.leaveOut(`'${event.type}' of an earlier part`);
  else if (!Array.isArray(logprobs) || logprobs.length === 0) answer.write({ type: 'text', delta, part, key });
  else answer.write({ type: 'text', delta, logprobs: logprobs as readonly Logprob[], part, key });
};

/** Deltas of other texts of an item, with the part that takes them; null if none does. */
function textsOf(
  itemType: 'message' | 'reasoning',
  type: 'refusal' | 'reasoning' | 'reasoning_summary',
  partOf: (item: ItemProgress, event: ForeignEvent) => number | null,
): Handler {
  return (answer, event) => {
    const delta = deltaOf(answer, event);
    const item = delta === undefined ? undefined : textItemOf(answer, event, itemType);
    if (delta === undefined || item === undefined) return;
    const part = partOf(item, event);
    if (part === null) answer.leaveOut(`'${event.type}' of an earlier part`);
    else answer.write({ type, delta, part, key: item.key });
  };
}

const refusal = textsOf('message', 'refusal', (item, event) => item.messagePart(event.content_index, 'refusal'));
const reasoning = textsOf('reasoning', 'reasoning', (item, event) => item.reasoningPart(event.content_index));
const summary = textsOf('reasoning', 'reasoning_summary', (item, event) => item.summaryPart(event.summary_index));

const annotation: Handler = (answer, event) => {
  const item = itemOf(answer, event, 'message');
  if (item === undefined) return;
  const { annotation: value, content_index: part, annotation_index: index } = event;
  if (!isObject(value) || !item.takesAnnotation(part, index)) answer.drop();
  else answer.write({ type: 'annotation', annotation: value as unknown as Annotation, key: item.key });
};

/** The call of a type that an event of a payload means; without an index and an id, the last open one. */
function callOf({ items }: ResponsesAnswer, event: ForeignEvent, type: string): ItemProgress | undefined {
  const { output_index: index, item_id: id } = event;
  const item = isUnnamed(event) ? items.open.findLast((open) => open.type === type) : items.meant(index, id, type);
  return item?.type === type ? item : undefined;
}

/** Holds a piece of the payload of a call that is not known so far. Ends an answer of which too much is held. */
function hold(answer: ResponsesAnswer, type: string, event: ForeignEvent, piece: HeldPiece): void {
  const isHeld = answer.held.add(type, event, piece);
  if (!isHeld) answer.end(notUnderstood('the arguments of too many or too long calls that nothing names'));
}

/** Deltas of a call's payload. They are held until the call is known. */
function payload(type: string): Handler {
  return (answer, event) => {
    const text = deltaOf(answer, event);
    if (text === undefined) return;
    const item = callOf(answer, event, type);
    if (item === undefined) hold(answer, type, event, { text, isWhole: false });
    else if (item.isOpen) answer.writePayload(item, text);
    else answer.drop();
  };
}

/** The whole payload of a call. Some servers send it only here, and the call would be complete without it. */
function wholePayload(type: string, member: string): Handler {
  return (answer, event) => {
    const value = event[member];
    if (value == null) return;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const item = callOf(answer, event, type);
    if (item === undefined) hold(answer, type, event, { text, isWhole: true });
    else if (item.isOpen && !item.hasPayload) answer.writePayload(item, text);
  };
}

/** The whole text of a part. Some servers send it only here. */
function wholeText(type: 'message' | 'reasoning', member: string, read: Handler): Handler {
  return (answer, event) => {
    const { output_index: index, item_id: id, content_index: part, summary_index: summaryPart } = event;
    const delta = event[member];
    if (typeof delta !== 'string' || delta === '') return;
    const { items } = answer;
    const known = items.meant(index, id, type) ?? items.meant(index, undefined, type) ?? items.lastOf(index, id, type);
    if (known?.type === type && !known.isOpen) return;
    const item = textItemOf(answer, event, type);
    const [kind, place] = read === summary ? (['summary', summaryPart] as const) : (['content', part] as const);
    if (item?.takesWhole(kind, place) === true) read(answer, { ...event, delta });
  };
}

/** The end of a part, which some servers send with its text in place of all other events of it. */
const wholePart: Handler = (answer, event) => {
  const { part } = event;
  if (!isObject(part)) return;
  const read = WHOLE_PARTS.get(part.type);
  read?.(answer, { ...event, text: part.text, refusal: part.refusal });
};

/** The beginning of a part, which some servers send with its text in place of all other events of it. */
const announcedPart: Handler = (answer, event) => {
  const part = isObject(event.part) ? readPart(event.part) : undefined;
  if (part === undefined) return;
  textItemOf(answer, event, part.of)?.announce(part.kind, part.form);
};

/** A part that has a text, in the form of the API, and where it belongs. */
function readPart({ type, text, refusal, ...rest }: Readonly<Record<string, unknown>>) {
  const words = type === 'refusal' ? refusal : text;
  if (typeof words !== 'string' || words === '') return undefined;
  if (type === 'refusal') return { of: 'message', kind: 'content', form: { type, refusal } } as const;
  if (type === 'output_text' || type === 'text')
    return { of: 'message', kind: 'content', form: { annotations: [], ...rest, type: 'output_text', text } } as const;
  if (type === 'reasoning_text') return { of: 'reasoning', kind: 'content', form: { type, text } } as const;
  return type === 'summary_text' ? ({ of: 'reasoning', kind: 'summary', form: { type, text } } as const) : undefined;
}

const wholeOutput = wholeText('message', 'text', text);
const wholeRefusal = wholeText('message', 'refusal', refusal);
const wholeReasoning = wholeText('reasoning', 'text', reasoning);
const wholeSummary = wholeText('reasoning', 'text', summary);

const WHOLE_PARTS: ReadonlyMap<unknown, Handler> = new Map([
  ['output_text', wholeOutput],
  ['text', wholeOutput],
  ['refusal', wholeRefusal],
  ['reasoning_text', wholeReasoning],
  ['summary_text', wholeSummary],
]);

/** Pieces of items with events of their own (upstreams §3.2). */
export const DELTAS: Readonly<Record<string, Handler>> = {
  'response.output_text.delta': text,
  'response.refusal.delta': refusal,
  'response.output_text.annotation.added': annotation,
  'response.reasoning_text.delta': reasoning,
  // As the Open Responses specification calls it.
  'response.reasoning.delta': reasoning,
  'response.reasoning_summary_text.delta': summary,
  'response.output_text.done': wholeOutput,
  'response.refusal.done': wholeRefusal,
  'response.reasoning_text.done': wholeReasoning,
  'response.reasoning.done': wholeReasoning,
  'response.reasoning_summary_text.done': wholeSummary,
  'response.content_part.added': announcedPart,
  'response.reasoning_summary_part.added': announcedPart,
  'response.content_part.done': wholePart,
  'response.reasoning_summary_part.done': wholePart,
  'response.function_call_arguments.delta': payload('function_call'),
  'response.function_call_arguments.done': wholePayload('function_call', 'arguments'),
  'response.custom_tool_call_input.delta': payload('custom_tool_call'),
  'response.custom_tool_call_input.done': wholePayload('custom_tool_call', 'input'),
};
