import type { Item } from './wire.js';

/**
 * What a call and its output have in common: their `call_id`. The output of a local shell names its call by its own id (protocol
 * §3.1). Undefined where a client leaves it out: such an item pairs with nothing.
 */
export function callIdOf(item: Item): string | undefined {
  if (typeof item.call_id === 'string') return item.call_id;
  return item.type === 'local_shell_call_output' ? item.id : undefined;
}
