import { message, outputText, type ParityTurn, usage } from './parity-turn.js';

const search = { type: 'web_search_call', id: 'ws_upstream', action: { type: 'search', query: 'antiphon' } };
const lookTool = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: false };

/** Turns with calls and with items that are passed through. */
export const CALL_TURNS: readonly ParityTurn[] = [
  {
    name: 'a function call',
    body: { tools: [lookTool] },
    model: [
      { type: 'function_call', name: 'look', callId: 'call_look' },
      { type: 'function_call_arguments', delta: '{"at":' },
      { type: 'function_call_arguments', delta: '"it"}' },
    ],
    expected: {
      output: [
        { type: 'function_call', call_id: 'call_look', name: 'look', arguments: '{"at":"it"}', status: 'completed' },
      ],
    },
    events: ['response.function_call_arguments.delta'],
  },
  {
    name: 'a function call without arguments or id',
    body: { tools: [lookTool] },
    model: [{ type: 'function_call', name: 'look' }],
    expected: { output: [{ type: 'function_call', name: 'look', arguments: '{}' }] },
  },
  {
    name: 'two parallel calls, interleaved, with text before',
    body: { tools: [lookTool] },
    model: [
      { type: 'text', delta: 'Looking.' },
      { type: 'function_call', name: 'look', callId: 'call_a', key: 'a' },
      { type: 'function_call', name: 'look', callId: 'call_b', key: 'b', namespace: 'far' },
      { type: 'function_call_arguments', delta: '{"a"', key: 'a' },
      { type: 'function_call_arguments', delta: '{"b"', key: 'b' },
      { type: 'function_call_arguments', delta: ':2}', key: 'b' },
      { type: 'end', key: 'b' },
      { type: 'function_call_arguments', delta: ':1}', key: 'a' },
    ],
    expected: {
      output: [
        message(outputText('Looking.')),
        { type: 'function_call', call_id: 'call_a', arguments: '{"a":1}' },
        { type: 'function_call', call_id: 'call_b', arguments: '{"b":2}', namespace: 'far' },
      ],
    },
  },
  {
    name: 'a custom tool call',
    body: { tools: [{ type: 'custom', name: 'patch' }] },
    model: [
      { type: 'custom_tool_call', name: 'patch', callId: 'call_patch' },
      { type: 'custom_tool_call_input', delta: '*** Begin' },
      { type: 'custom_tool_call_input', delta: ' Patch' },
    ],
    expected: {
      output: [{ type: 'custom_tool_call', call_id: 'call_patch', input: '*** Begin Patch', status: 'completed' }],
    },
    events: ['response.custom_tool_call_input.done'],
  },
  {
    name: 'a web search that is passed through',
    model: [
      { type: 'item.open', key: 's', item: { ...search, status: 'in_progress' } },
      { type: 'item.event', key: 's', event: { type: 'response.web_search_call.in_progress', item_id: 'ws_upstream' } },
      { type: 'item.event', key: 's', event: { type: 'response.web_search_call.searching', sequence_number: 99 } },
      { type: 'item.event', key: 's', event: { type: 'response.web_search_call.completed', output_index: 5 } },
      { type: 'item.close', key: 's', item: { ...search, status: 'completed' } },
      { type: 'text', delta: 'Found.' },
      usage,
    ],
    expected: {
      output: [{ type: 'web_search_call', status: 'completed', action: search.action }, message(outputText('Found.'))],
    },
    events: ['response.web_search_call.in_progress', 'response.web_search_call.searching'],
  },
];
