import type { Includable } from '../../protocol/index.js';

/** The values of `include` (protocol §2). */
export const INCLUDABLES: readonly Includable[] = [
  'file_search_call.results',
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
];
