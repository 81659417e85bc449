import type { ResponsesAnswer } from './answer.js';
import { isFinalItem } from './foreign-items.js';
import type { HeldPayload } from './held-payloads.js';

/** Ends what is open when the answer is complete. What was only announced, or held, is written. Returns whether all of it had a place. */
export function endOpenItems(answer: ResponsesAnswer): boolean {
  const isPlaced = answer.held.takeAll().map((payload) => place(answer, payload));
  for (const item of answer.items.open) {
    const { head, isSilent } = item;
    if (isSilent && head.type === 'function_call' && typeof head.arguments === 'string')
      answer.writePayload(item, head.arguments);
    // Some servers announce a message with its content, and send nothing else of it.
    if (isSilent && head.type === 'message' && isFinalItem(head)) answer.close(item, { ...head, status: 'completed' });
    if (!item.isOpen) continue;
    item.isOpen = false;
    answer.write({ type: 'end', key: item.key });
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
