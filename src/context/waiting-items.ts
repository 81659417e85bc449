import { callIdOf, isOutput, type Item } from '../protocol/index.js';

const REQUEST = 'mcp_approval_request';
const ANSWER = 'mcp_approval_response';

/** Whether an item is a call that the client answers. */
export function isCall(item: Item): boolean {
  return callIdOf(item) !== undefined && !isOutput(item);
}

/** The output of each call that has one. Some models use a `call_id` again: of calls that share one, each has the output in its turn. */
export function outputsOf(context: readonly Item[]): ReadonlyMap<Item, Item> {
  const outputs = Map.groupBy(context.filter(isOutput), callIdOf);
  const pairs = new Map<Item, Item>();
  for (const call of context.filter(isCall)) {
    const output = outputs.get(callIdOf(call))?.shift();
    if (output !== undefined) pairs.set(call, output);
  }
  return pairs;
}

/** The calls of a context that wait for their output, and the requests that wait for an approval, also if it stands from `start` on. */
export function waitingItems(context: readonly Item[], start: number): ReadonlySet<Item> {
  const asking = context.filter((item) => isCall(item) || item.type === REQUEST);
  if (asking.length === 0) return new Set();
  const outputs = outputsOf(context);
  const before = new Set(context.slice(0, start));
  const approvals = new Set<unknown>();
  for (const item of before) {
    const { type, approval_request_id: id } = item;
    if (type === ANSWER || type === 'mcp_call') approvals.add(id);
  }
  const isAnswered = (item: Item): boolean => {
    if (item.type === REQUEST) return approvals.has(item.id);
    const output = outputs.get(item);
    return output !== undefined && before.has(output);
  };
  return new Set(asking.filter((item) => !isAnswered(item)));
}
