import { callIdOf, isOutput, type Item } from '../../protocol/index.js';

/** An item that the client has to send before the model can go on, as `response.steer.pending` shows it. */
export type RequiredInput = Readonly<Record<string, unknown>> & { readonly type: string };

/** The item that answers one of the model's, by its type (protocol §6.8). */
const ANSWERS: Readonly<Record<string, (item: Item) => RequiredInput>> = {
  function_call: ({ call_id, name }) => ({ type: 'function_call_output', call_id, name }),
  custom_tool_call: ({ call_id }) => ({ type: 'custom_tool_call_output', call_id }),
  computer_call: ({ call_id }) => ({ type: 'computer_call_output', call_id }),
  shell_call: ({ call_id }) => ({ type: 'shell_call_output', call_id }),
  apply_patch_call: ({ call_id }) => ({ type: 'apply_patch_call_output', call_id }),
  tool_search_call: ({ call_id }) => ({ type: 'tool_search_output', call_id, execution: 'client' }),
  mcp_approval_request: ({ id }) => ({ type: 'mcp_approval_response', approval_request_id: id }),
};

/** What the client has to send after an output, besides what its server has answered with `given` items. */
export function requiredInputOf(output: readonly Item[], given: readonly Item[]): readonly RequiredInput[] {
  const answered = new Set([...output, ...given].filter(isOutput).map(callIdOf));
  return output.flatMap((item) => {
    const answer = Object.hasOwn(ANSWERS, item.type) ? ANSWERS[item.type] : undefined;
    const isOpen = item['execution'] !== 'server' && item['async'] !== true && !answered.has(callIdOf(item));
    return answer !== undefined && (isOpen || item.type === 'mcp_approval_request') ? [answer(item)] : [];
  });
}
