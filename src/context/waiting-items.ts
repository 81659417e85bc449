import { callIdOf, type Item } from '../protocol/index.js';

const REQUEST = 'mcp_approval_request';

/** Whether an item is a call that the client answers. */
export function isCall(item: Item): boolean {
  return callIdOf(item) !== undefined && !isOutput(item);
}

/** Whether an item is the output of a call. */
export function isOutput({ type }: Item): boolean {
  return type.endsWith('_output');
}

/**
 * The calls of a context that wait for their output, and the requests that wait for an approval, also if it stands from `start` on. Some
 * models use a `call_id` again: of calls that share one, the latest wait.
 */
export function waitingItems(context: readonly Item[], start: number): ReadonlySet<Item> {
  const asking = context.filter((item) => isCall(item) || item.type === REQUEST);
  if (asking.length === 0) return new Set();
  const answers = new Map<unknown, number>();
  for (const item of context.slice(0, start)) {
    const id = isOutput(item) ? callIdOf(item) : item['approval_request_id'];
    if (id !== undefined) answers.set(id, (answers.get(id) ?? 0) + 1);
  }
  return new Set(
    asking.filter((item) => {
      const id = item.type === REQUEST ? item.id : callIdOf(item);
      const left = answers.get(id) ?? 0;
      answers.set(id, left - 1);
      return left <= 0;
    }),
  );
}
