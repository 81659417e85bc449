import { isObject } from '../../../validation/index.js';
import type { Annotation, Logprob } from '../../../protocol/index.js';
import type { ForeignEvent, ModelEvent } from '../../model-event.js';
import { isUnnamed, type ResponsesAnswer, type Handler } from './answer.js';
import type { ItemProgress } from './item-progress.js';

/** The delta of an event; undefined if it is none, or empty: an empty one changes nothing. */
function deltaOf(answer: ResponsesAnswer, { delta }: ForeignEvent): string | undefined {
  if (typeof delta === 'string') return delta === '' ? undefined : delta;
  answer.drop();
  return undefined;
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
  answer.drop();
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
  if (part === null) answer.drop();
  else if (!Array.isArray(logprobs) || logprobs.length === 0) answer.write({ type: 'text', delta, part, key });
  else answer.write({ type: 'text', delta, logprobs: logprobs as readonly Logprob[], part, key });
};

const refusal: Handler = (answer, event) => {
  const delta = deltaOf(answer, event);
  const item = delta === undefined ? undefined : textItemOf(answer, event, 'message');
  if (delta === undefined || item === undefined) return;
  const part = item.messagePart(event.content_index, 'refusal');
  if (part === null) answer.drop();
  else answer.write({ type: 'refusal', delta, part, key: item.key });
};

const annotation: Handler = (answer, event) => {
  const item = itemOf(answer, event, 'message');
  if (item === undefined) return;
  const { annotation: value, content_index: part, annotation_index: index } = event;
  if (!isObject(value) || !item.takesAnnotation(part, index)) answer.drop();
  else answer.write({ type: 'annotation', annotation: value as unknown as Annotation, key: item.key });
};

const reasoning: Handler = (answer, event) => {
  const delta = deltaOf(answer, event);
  const item = delta === undefined ? undefined : textItemOf(answer, event, 'reasoning');
  if (delta === undefined || item === undefined) return;
  const part = item.reasoningPart(event.content_index);
  if (part === null) answer.drop();
  else answer.write({ type: 'reasoning', delta, part, key: item.key });
};

const summary: Handler = (answer, event) => {
  const delta = deltaOf(answer, event);
  const item = delta === undefined ? undefined : textItemOf(answer, event, 'reasoning');
  if (delta === undefined || item === undefined) return;
  const part = item.summaryPart(event.summary_index);
  if (part === null) answer.drop();
  else answer.write({ type: 'reasoning_summary', delta, part, key: item.key });
};

/** Deltas of a call's payload. */
function payload(itemType: string, type: 'function_call_arguments' | 'custom_tool_call_input'): Handler {
  return (answer, event) => {
    const delta = deltaOf(answer, event);
    const item = delta === undefined ? undefined : itemOf(answer, event, itemType);
    if (delta === undefined || item === undefined) return;
    item.hasPayload = true;
    answer.write({ type, delta, key: item.key } satisfies ModelEvent);
  };
}

/** The whole payload of a call. Some servers send it only here, and the call would be complete without it. */
function wholePayload(member: string, read: Handler): Handler {
  return (answer, event) => {
    const item = answer.items.meant(event.output_index, event.item_id);
    const value = event[member];
    const whole = isObject(value) && member === 'arguments' ? JSON.stringify(value) : value;
    if (item?.isOpen === true && !item.hasPayload && typeof whole === 'string')
      read(answer, { ...event, delta: whole });
  };
}

const callArguments = payload('function_call', 'function_call_arguments');
const callInput = payload('custom_tool_call', 'custom_tool_call_input');

/** Pieces of items with events of their own (upstreams §3.2). */
export const DELTAS: Readonly<Record<string, Handler>> = {
  'response.output_text.delta': text,
  'response.refusal.delta': refusal,
  'response.output_text.annotation.added': annotation,
  'response.reasoning_text.delta': reasoning,
  // As the Open Responses specification calls it.
  'response.reasoning.delta': reasoning,
  'response.reasoning_summary_text.delta': summary,
  'response.function_call_arguments.delta': callArguments,
  'response.function_call_arguments.done': wholePayload('arguments', callArguments),
  'response.custom_tool_call_input.delta': callInput,
  'response.custom_tool_call_input.done': wholePayload('input', callInput),
};
