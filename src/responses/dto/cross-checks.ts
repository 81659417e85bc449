import { ApiError, type CreateResponseRequest } from '../../protocol/index.js';
import { requireChosenTools } from './find-tool.js';
import { typeOfItem } from './input-item.js';

type Body = Readonly<Record<string, unknown>>;

const NOTHING_TO_ANSWER = `One of "input" or "previous_response_id" or 'prompt' or 'conversation' must be provided.`;

/** Refuses a request without `input` (protocol §2, order rule 2). `conversation` or `prompt` would replace it. */
export function requireInput(body: Body): void {
  if (body.input != null || body.conversation != null || body.prompt != null) return;
  if (body.previous_response_id == null) throw ApiError.of('missing_required_parameter', NOTHING_TO_ANSWER);
  throw ApiError.of('missing_required_parameter', "Missing required parameter: 'input'.", { param: 'input' });
}

/** Refuses an empty `input` without a previous response (protocol §2, order rule 7). */
export function requireSomethingToAnswer({ input, previous_response_id }: CreateResponseRequest): void {
  if (input?.length !== 0 || previous_response_id != null) return;
  throw ApiError.of('missing_required_parameter', NOTHING_TO_ANSWER);
}

/** Refuses two histories at once (protocol §2, order rule 5). */
export function refuseTwoHistories({ conversation, previous_response_id }: CreateResponseRequest): void {
  if (conversation == null || previous_response_id == null) return;
  throw ApiError.of(
    'mutually_exclusive_parameters',
    "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. " +
      "Ensure you are only providing one of: 'previous_response_id' or 'conversation'.",
  );
}

/**
 * Refuses a `tool_choice` that names unknown tools, unless items of the input or a previous response may add tools
 * (protocol §3.4).
 */
export function requireToolsOfChoice({ input, previous_response_id, tool_choice, tools }: CreateResponseRequest): void {
  if (typeof tool_choice !== 'object' || previous_response_id != null) return;
  const items = typeof input === 'string' ? [] : (input ?? []);
  const mayBringTools = (type: unknown): boolean => type === 'additional_tools' || type === 'tool_search_output';
  if (items.some((item) => mayBringTools(typeOfItem(item)))) return;
  requireChosenTools(tool_choice, tools ?? []);
}
