import { makeId } from './floor-items.ts';
import { FloorSnapshots, toSnapshot, toUsage } from './floor-snapshot.ts';

/** What an upstream knows of a request. */
export interface AgentContext {
  /** Items that the model sees. */
  readonly items: number;
  /** Length of the request. */
  readonly receivedBytes: number;
}

/** A response that calls a tool, as JSON texts, one per event. The call says how long the request was, the usage how many items it saw. */
export function toAgentCall(model: string, { items, receivedBytes }: AgentContext): AgentCall {
  const started = new FloorSnapshots({ model, metadata: {} }).started() as { readonly id: string };
  const call = { id: makeId('fc'), type: 'function_call', call_id: makeId('call'), name: 'search' };
  const args = JSON.stringify({ received_bytes: receivedBytes });
  const done = { ...call, arguments: args, status: 'completed' };
  const place = { item_id: call.id, output_index: 0 };
  const createdAt = Math.floor(Date.now() / 1000);
  const completed = toSnapshot({
    ...{ id: started.id, createdAt, model, metadata: {}, status: 'completed' },
    output: [done],
    usage: toUsage(items, 1),
  });
  const events = [
    { type: 'response.created', response: started },
    { type: 'response.in_progress', response: started },
    { type: 'response.output_item.added', output_index: 0, item: { ...call, arguments: '', status: 'in_progress' } },
    { type: 'response.function_call_arguments.delta', ...place, delta: args },
    { type: 'response.function_call_arguments.done', ...place, arguments: args, name: call.name },
    { type: 'response.output_item.done', output_index: 0, item: done },
    { type: 'response.completed', response: completed },
  ];
  return {
    responseId: started.id,
    events: events.map(({ type, ...rest }, index) => JSON.stringify({ type, sequence_number: index, ...rest })),
  };
}

/** The events of a call, and the id of their response. */
export interface AgentCall {
  readonly responseId: string;
  readonly events: readonly string[];
}
