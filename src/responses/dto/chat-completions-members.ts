import { ApiError } from '../../protocol/index.js';
import type { CheckOptions } from '../../validation/index.js';

/** Members of a Chat Completions request, with their names in the Responses API; null for those without one. */
const CHAT_MEMBERS: readonly (readonly [name: string, replacement: string | null])[] = [
  ['messages', 'input'],
  ['max_tokens', 'max_output_tokens'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['response_format', 'text.format'],
  ['functions', 'tools'],
  ['function_call', 'tool_choice'],
  ['reasoning_effort', 'reasoning.effort'],
  ['verbosity', 'text.verbosity'],
  ['stop', null],
  ['n', null],
  ['seed', null],
  ['logprobs', null],
  ['logit_bias', null],
  ['modalities', null],
  ['audio', null],
  ['prediction', null],
  ['web_search_options', null],
];

/**
 * Refuses members of Chat Completions, those that have moved first: in a request that was written for the other API
 * they say most. A member that a provider takes is its own.
 *
 * @throws ApiError 400 `unsupported_parameter` or `unknown_parameter`, in OpenAI's words
 */
export function refuseChatCompletions(
  body: object,
  { unknownParameters }: CheckOptions,
  forwarded?: ReadonlySet<string>,
): void {
  if (unknownParameters === 'ignore') return;
  for (const [name, replacement] of CHAT_MEMBERS) {
    if (!Object.hasOwn(body, name) || forwarded?.has(name) === true) continue;
    if (replacement === null) {
      const message = `Unknown parameter: '${name}'. It belongs to Chat Completions, and the Responses API has no counterpart.`;
      throw ApiError.of('unknown_parameter', message, { param: name });
    }
    const message = `Unsupported parameter: '${name}'. In the Responses API, this parameter has moved to '${replacement}'.`;
    throw ApiError.of('unsupported_parameter', message);
  }
}
