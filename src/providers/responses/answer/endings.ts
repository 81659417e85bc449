import { isObject } from '../../../validation/index.js';
import type { Finish, ForeignEvent } from '../../model-event.js';
import { quotesSecret } from '../../redact.js';
import { classifyFailed, classifyFrame } from '../errors/classify.js';
import { notUnderstood, UpstreamError } from '../upstream-error.js';
import type { Handler, ResponsesAnswer } from './answer.js';
import { DELTAS } from './deltas.js';
import { inFormOfApi, isFinalItem, isUselessCall, withPayload } from './foreign-items.js';
import type { HeldPayload } from './held-payloads.js';
import { readUsage } from './read-usage.js';

type Snapshot = Readonly<Record<string, unknown>>;

const NAMELESS_CALL = 'the arguments of a call that nothing names';

/** Ignored without a response, as Codex does; without an id, or with usage that is none, it is a failure. */
const completed: Handler = (answer, event) => {
  const { response } = event;
  if (!isObject(response)) answer.drop();
  // Gateways that have one event for all ends say in the response how it has ended.
  else if (response.status === 'incomplete') incomplete(answer, event);
  else if (response.status === 'failed') failed(answer, event);
  else if (typeof response.id !== 'string') answer.fail(unreadable('its response has no id'));
  else complete(answer, response, response.id);
};

/** Until February 2026 a response could end with it, even without a response (upstreams §3.2). */
const done: Handler = (answer, { response }) => {
  if (!answer.options.profile.acceptsDone) return;
  const snapshot = isObject(response) ? response : {};
  complete(answer, snapshot, typeof snapshot.id === 'string' ? snapshot.id : '');
};

function complete(answer: ResponsesAnswer, response: Snapshot, id: string): void {
  const { usage, flaw } = readUsage(response);
  if (flaw !== undefined) {
    answer.fail(unreadable(flaw));
    return;
  }
  readOutput(answer, response.output);
  const { output_text: text } = response;
  if (!answer.items.haveAnswered && typeof text === 'string' && text !== '')
    DELTAS['response.output_text.delta']?.(answer, { type: 'response.output_text.delta', delta: text });
  const isPlaced = writeLooseEnds(answer, 'completed');
  for (const item of answer.items.open) answer.endItem(item);
  if (usage !== undefined) answer.noteUsage(usage);
  answer.nameResponse(id);
  const { unread, items } = answer;
  if (!isPlaced) answer.end(notUnderstood(NAMELESS_CALL));
  else if (unread !== null && !items.haveAnswered) answer.end(notUnderstood(unread));
  else answer.finish({ reason: 'stop', ...tierOf(answer, response) });
}

/** The model was stopped. Its open items stay incomplete. */
const incomplete: Handler = (answer, { response }) => {
  if (!isObject(response)) {
    answer.drop();
    return;
  }
  readOutput(answer, response.output);
  if (!writeLooseEnds(answer, 'incomplete')) answer.leaveOut(NAMELESS_CALL);
  noteUsage(answer, response);
  if (typeof response.id === 'string') answer.nameResponse(response.id);
  answer.finish({ ...reasonOf(answer, response.incomplete_details), ...tierOf(answer, response) });
};

const failed: Handler = (answer, { response }) => {
  const snapshot = isObject(response) ? response : {};
  noteUsage(answer, snapshot);
  answer.fail(classifyFailed(snapshot.error, answer.failureContext));
};

/** Frames without an error status are ignored. Over SSE, servers send an error before `response.failed`, or in its place. */
const error: Handler = (answer, event) => {
  const context = answer.failureContext;
  const failure = classifyFrame(event, context);
  if (failure !== null) answer.fail(failure);
  else if (answer.options.transport === 'sse') answer.failure ??= classifyFailed(errorOf(event), context);
};

/** The events that end a response (upstreams §3.2, §3.3, §4.3). */
export const ENDINGS: Readonly<Record<string, Handler>> = {
  'response.completed': completed,
  'response.done': done,
  'response.incomplete': incomplete,
  'response.failed': failed,
  error,
};

/** Takes the items of the finished output that were not closed before: some servers send them only here. */
function readOutput(answer: ResponsesAnswer, output: unknown): void {
  if (!Array.isArray(output)) return;
  const { items, held } = answer;
  for (const [place, sent] of output.entries()) {
    const item = withPayload(inFormOfApi(sent), (call) => items.atEnd(place, call)?.payload || held.take(place, call));
    if (!isFinalItem(item)) {
      if (isUselessCall(item)) answer.loseCall();
      else answer.leaveOutItem(item);
      continue;
    }
    held.take(place, item);
    const known = items.atEnd(place, item);
    if (known === undefined) answer.close(answer.open(place, item) ?? answer.open(undefined, item), item);
    else if (known.isOpen) answer.close(known, item);
  }
}

function noteUsage(answer: ResponsesAnswer, response: Snapshot): void {
  const { usage } = readUsage(response);
  if (usage !== undefined) answer.noteUsage(usage);
}

function tierOf({ options }: ResponsesAnswer, { service_tier: tier }: Snapshot): Pick<Finish, 'serviceTier'> {
  return typeof tier === 'string' && !quotesSecret(tier, options.secrets) ? { serviceTier: tier } : {};
}

function reasonOf({ options }: ResponsesAnswer, details: unknown): Finish {
  const reason = isObject(details) ? details.reason : undefined;
  if (reason === 'content_filter') return { reason };
  if (typeof reason !== 'string' || reason === '' || reason === 'max_output_tokens') return { reason: 'length' };
  if (quotesSecret(reason, options.secrets)) return { reason: 'length' };
  return { reason: 'length', incompleteReason: reason };
}

/** The error of an event: flat, or in a member. */
function errorOf(event: ForeignEvent): unknown {
  return isObject(event.error) ? event.error : event;
}

function unreadable(flaw: string): UpstreamError {
  return new UpstreamError(`failed to parse ResponseCompleted: ${flaw}`, { remedy: 'retry' });
}

/** Writes what was only announced, or held, when the answer ends. Returns whether all of it had a place. */
function writeLooseEnds(answer: ResponsesAnswer, status: 'completed' | 'incomplete'): boolean {
  const isPlaced = answer.held.takeAll().map((payload) => place(answer, payload));
  for (const item of answer.items.open) {
    const { head, isSilent } = item;
    if (isSilent && head.type === 'function_call' && typeof head.arguments === 'string')
      answer.writePayload(item, head.arguments);
    // Some servers announce an item with its content, and send nothing else of it.
    const form = item.withAnnounced(head);
    const isEmpty = !Array.isArray(form.content) || form.content.length === 0;
    const isMessage = isSilent && form.type === 'message' && isFinalItem(form);
    if (form !== head || (isMessage && (status === 'completed' || !isEmpty))) answer.close(item, { ...form, status });
  }
  return !isPlaced.includes(false);
}

/** Writes a held payload to its call: an open one without a payload, or a new one if the events of the payload named it. */
function place(answer: ResponsesAnswer, { type, index, id, name, callId, text }: HeldPayload): boolean {
  const { items } = answer;
  // Servers that change ids repeat a payload.
  if (items.finals.some((item) => item.type === type && (item.arguments ?? item.input) === text)) return true;
  const open = items.open.find(
    (item) => item.type === type && !item.hasPayload && (name === undefined || name === item.head.name),
  );
  const { hasLostItem } = answer;
  const head = {
    type,
    ...(typeof id === 'string' && { id }),
    call_id: callId ?? id,
    name,
    [type === 'function_call' ? 'arguments' : 'input']: '',
  };
  const item = open ?? (name === undefined ? null : answer.open(index, head));
  if (item === null) return false;
  // The upstream may have it under another `call_id`.
  answer.hasLostItem = hasLostItem || open === undefined;
  answer.writePayload(item, text);
  return true;
}
