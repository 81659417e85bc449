import { isPlainReasoning } from '../../src/providers/index.js';
import { type OutputEvent, ResponseAssembler } from '../../src/responses/assembler/response-assembler.js';
import { resolveSettings } from '../../src/responses/turn/resolve-settings.js';
import { SequentialIdGenerator } from '../../src/testing/index.js';
import type { ReadAnswer } from './read-upstream-answer.js';

/** An event of a stream. */
export type Event = Readonly<Record<string, unknown>>;

const at = (output_index: number, item_id: string) => ({ output_index, item_id });
const part = { type: 'output_text', text: 'Hello', annotations: [{ type: 'file_path' }], logprobs: [] };
const spoken = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' };
export const thought = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: 'Well' }],
  content: [{ type: 'reasoning_text', text: 'hm' }],
};
export const called = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'f',
  arguments: '{}',
  status: 'completed',
};
const patched = {
  type: 'custom_tool_call',
  id: 'ctc_1',
  call_id: 'call_2',
  name: 'p',
  input: 'x',
  status: 'completed',
};
const searched = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
export const ran = { type: 'shell_call', id: 'sh_1', call_id: 'call_3', status: 'completed' };
export const final = { ...spoken, content: [part, { type: 'refusal', refusal: 'No' }, part] };

const USAGE = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };

/** An answer with items of all families, some of them open side by side. */
export const ANSWER: readonly Event[] = [
  { type: 'response.created', response: { id: 'resp_u' } },
  { type: 'response.output_item.added', output_index: 0, item: { type: 'reasoning', id: 'rs_1', summary: [] } },
  { type: 'response.reasoning_summary_text.delta', ...at(0, 'rs_1'), summary_index: 0, delta: 'We' },
  { type: 'response.reasoning_summary_text.delta', ...at(0, 'rs_1'), summary_index: 0, delta: 'll' },
  { type: 'response.reasoning_text.delta', ...at(0, 'rs_1'), content_index: 0, delta: 'hm' },
  { type: 'response.output_item.done', output_index: 0, item: { ...thought, encrypted_content: 'gAAA' } },
  { type: 'response.output_item.added', output_index: 1, item: { ...spoken, content: [] } },
  { type: 'response.output_item.added', output_index: 2, item: { ...called, arguments: '' } },
  { type: 'response.output_text.delta', ...at(1, 'msg_1'), content_index: 0, delta: 'Hel', logprobs: [] },
  { type: 'response.function_call_arguments.delta', ...at(2, 'fc_1'), delta: '{}' },
  { type: 'response.output_text.delta', ...at(1, 'msg_1'), content_index: 0, delta: 'lo', logprobs: [] },
  {
    type: 'response.output_text.annotation.added',
    ...at(1, 'msg_1'),
    content_index: 0,
    annotation_index: 0,
    annotation: { type: 'file_path' },
  },
  { type: 'response.refusal.delta', ...at(1, 'msg_1'), content_index: 1, delta: 'No' },
  { type: 'response.output_text.delta', ...at(1, 'msg_1'), content_index: 2, delta: 'Hello', logprobs: [] },
  { type: 'response.output_item.done', output_index: 2, item: called },
  { type: 'response.output_item.done', output_index: 1, item: final },
  { type: 'response.output_item.added', output_index: 3, item: { ...patched, input: '' } },
  { type: 'response.custom_tool_call_input.delta', ...at(3, 'ctc_1'), delta: 'x' },
  { type: 'response.output_item.done', output_index: 3, item: patched },
  { type: 'response.output_item.added', output_index: 4, item: { ...searched, status: 'in_progress' } },
  { type: 'response.web_search_call.searching', ...at(4, 'ws_1') },
  { type: 'response.output_item.done', output_index: 4, item: searched },
  { type: 'response.output_item.added', output_index: 5, item: { ...ran, status: 'in_progress' } },
  { type: 'response.shell_call_command.delta', output_index: 5, command_index: 0, delta: 'ls' },
  { type: 'codex.rate_limits', rate_limits: {} },
  {
    type: 'response.completed',
    response: { id: 'resp_u', output: [thought, final, called, patched, searched, ran], usage: USAGE },
  },
];

/** The stream of our response, made by the assembler of the service. Throws when a ModelEvent is not as it must be. */
export function assemble({ events }: ReadAnswer): readonly Event[] {
  const settings = resolveSettings({ model: 'm' }, null);
  const assembler = new ResponseAssembler({
    id: 'resp_1',
    createdAt: 1,
    requestedTier: 'auto',
    settings,
    ids: new SequentialIdGenerator(),
    writing: 'events',
    maxOutputCharacters: 1_000_000,
  });
  assembler.start();
  assembler.beginPass();
  for (const event of events) {
    if (event.type === 'finish') assembler.endPass(event);
    else if (event.type !== 'metadata' && event.type !== 'event' && !isPlainReasoning(event))
      assembler.push(event satisfies OutputEvent);
  }
  assembler.cutItems();
  assembler.terminate(assembler.conclude({ status: 'completed', usage: assembler.usage }, 2));
  return assembler.takeEvents().map(({ json }) => JSON.parse(`${json}}`) as Event);
}
