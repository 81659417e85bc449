import type { Environment } from '../config/index.js';
import { approvalTimeOf, callIdOf, isOutput, type Item } from '../protocol/index.js';
import type { Clock } from '../time/index.js';

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

/** From when on requests for approvals can still be answered, Unix ms. */
export function approvalsOpenFrom(
  clock: Clock,
  { MCP_APPROVAL_TTL: seconds }: Pick<Environment, 'MCP_APPROVAL_TTL'>,
): number {
  return clock.now() - seconds * 1000;
}

/**
 * The calls of a context that wait for their output, and the requests that wait for an approval, also if it stands from `start` on.
 * Requests of this service from before `openFrom` (Unix ms) have expired.
 */
export function waitingItems(context: readonly Item[], start: number, openFrom: number): ReadonlySet<Item> {
  const isOpen = ({ id }: Item): boolean => (approvalTimeOf(id) ?? Infinity) > openFrom;
  const asking = context.filter((item) => isCall(item) || (item.type === REQUEST && isOpen(item)));
  if (asking.length === 0) return new Set();
  const outputs = outputsOf(context);
  const before = new Set(context.slice(0, start));
  const approvals = new Set<unknown>();
  for (const item of before) {
    const { type, approval_request_id: id, approve } = item;
    // Of calls that are approved, those beyond `max_tool_calls` are not made: their requests stay open.
    if (type === 'mcp_call' || (type === ANSWER && approve !== true)) approvals.add(id);
  }
  const isAnswered = (item: Item): boolean => {
    if (item.type === REQUEST) return approvals.has(item.id);
    const output = outputs.get(item);
    return output !== undefined && before.has(output);
  };
  return new Set(asking.filter((item) => !isAnswered(item)));
}
