import { callIdOf, isOutput } from './call-id.js';
import type { Item } from './wire.js';

/**
 * The outputs of asynchronous calls that do not stand right behind the calls of their answer (protocol §3.4), each with the latest call
 * that it may belong to.
 */
export function lateOutputs(items: readonly Item[]): ReadonlyMap<Item, Item> {
  const late = new Map<Item, Item>();
  const running = new Map<string, Item>();
  /** The calls of the latest answer, as long as nothing but outputs has followed it. */
  const latest = new Set<string | undefined>();
  let isAnswered = false;
  for (const item of items) {
    const callId = callIdOf(item);
    if (item.type.endsWith('_call')) {
      if (isAnswered) latest.clear();
      isAnswered = false;
      latest.add(callId);
      if (item['async'] === true && callId !== undefined) running.set(callId, item);
    } else if (isOutput(item)) {
      isAnswered = true;
      const call = running.get(callId ?? '');
      if (call !== undefined && !latest.has(callId)) late.set(item, call);
    } else if (item.type !== 'reasoning') {
      latest.clear();
    }
  }
  return late;
}

/** A late output as a message of the user, for a context without its call. */
export function toOutputMessage(output: Item, { name, call_id: callId }: Item): Item {
  const given = output['output'];
  const parts = Array.isArray(given) ? (given as readonly object[]) : [{ type: 'input_text', text: given }];
  const title = { type: 'input_text', text: `Output of ${String(name)}, call ${String(callId)}:` };
  return { id: output.id, type: 'message', role: 'user', status: 'completed', content: [title, ...parts] };
}
