import type { ResponsesAnswer } from './answer.js';
import { isFinalItem } from './foreign-items.js';
import type { HeldPayload } from './held-payloads.js';

/** Writes what was only announced, or held, when the answer ends. Returns whether all of it had a place. */
export function writeLooseEnds(answer: ResponsesAnswer, status: 'completed' | 'incomplete'): boolean {
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
