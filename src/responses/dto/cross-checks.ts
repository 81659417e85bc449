import { addsTools, ApiError, type CreateResponseRequest } from '../../protocol/index.js';
import { type CheckOptions, clip, objectsIn } from '../../validation/index.js';
import { typeOfItem } from './input-item.js';

/** Aliases of hosted tools: a choice may use another name than the tool. */
const ALIASES: ReadonlyMap<unknown, string> = new Map([
  ['web_search_2025_08_26', 'web_search'],
  ['web_search_preview', 'web_search'],
  ['web_search_preview_2025_03_11', 'web_search'],
  ['computer_use', 'computer'],
  ['computer_use_preview', 'computer'],
]);

const canonical = (type: unknown): unknown => ALIASES.get(type) ?? type;

type Body = Readonly<Record<string, unknown>>;

/** Items whose texts are elsewhere, or encrypted. */
const OPAQUE: ReadonlySet<unknown> = new Set(['item_reference', 'compaction', 'compaction_summary']);

const NOTHING_TO_ANSWER = `One of "input" or "previous_response_id" or 'prompt' or 'conversation' must be provided.`;

/** Refuses a request without `input` (protocol §2, order rule 2). `conversation` or `prompt` would replace it. */
export function requireInput(body: Body): void {
  if (body.input != null || body.conversation != null || body.prompt != null) return;
  throw ApiError.of('missing_required_parameter', "Missing required parameter: 'input'.", { param: 'input' });
}

/** Refuses an empty `input` without a history (protocol §2, order rule 7). */
export function requireSomethingToAnswer(request: CreateResponseRequest): void {
  if (request.input?.length !== 0 || hasHistory(request)) return;
  throw nothingToAnswer();
}

/** The error of a request whose model would see nothing. */
export function nothingToAnswer(): ApiError {
  return ApiError.of('missing_required_parameter', NOTHING_TO_ANSWER);
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
 * Refuses a `tool_choice` that names unknown tools or requires one where there is none, unless items of the input or
 * the history may add tools (protocol §3.4).
 */
export function requireToolsOfChoice(request: CreateResponseRequest, { tolerated }: CheckOptions): void {
  const { input, tool_choice: choice, tools } = request;
  const isRequired = choice === 'required' && tolerated?.has('required_tools') !== true;
  if ((!isRequired && typeof choice !== 'object') || hasHistory(request)) return;
  const items = typeof input === 'string' ? [] : (input ?? []);
  if (items.some((item) => addsTools(typeOfItem(item)))) return;
  if (isRequired) requireAnyTool(tools ?? []);
  else requireChosenTools(choice, tools ?? []);
}

function requireAnyTool(tools: readonly object[]): void {
  if (tools.length > 0) return;
  throw ApiError.badRequest("Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice');
}

/**
 * Refuses `text.format` `json_object` if neither the input nor the instructions mention JSON: models would not know that
 * they are to write any. The history, a referenced item or a compaction may do so, too.
 */
export function requireMentionOfJson(request: CreateResponseRequest, { tolerated }: CheckOptions): void {
  const { input, instructions, text } = request;
  if (text?.format?.type !== 'json_object' || tolerated?.has('json_object') === true) return;
  if (hasHistory(request) || mentionsJson(input) || mentionsJson(instructions)) return;
  throw ApiError.badRequest(
    "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
    'input',
  );
}

/** Whether the turn continues a response or a conversation. */
function hasHistory({ conversation, previous_response_id }: CreateResponseRequest): boolean {
  return conversation != null || previous_response_id != null;
}

/** Whether a text, or the texts of some items or parts, have the word. */
function mentionsJson(value: unknown): boolean {
  if (typeof value === 'string') return /json/i.test(value);
  return objectsIn(value).some((member) => {
    const { content, output, text } = member;
    return OPAQUE.has(typeOfItem(member)) || mentionsJson(content) || mentionsJson(output) || mentionsJson(text);
  });
}

type Members = Readonly<Record<string, unknown>>;

/** What choices can refer to, of tools and the tools of namespaces in them: a type, or a type and a name. */
function listReferences(tools: readonly Members[], references = new Set<string>()): ReadonlySet<string> {
  for (const tool of tools) {
    const type = String(canonical(tool.type));
    references.add(type).add(referenceTo(type, tool.type === 'mcp' ? tool.server_label : tool.name));
    if (tool.type === 'namespace') listReferences(tool.tools as readonly Members[], references);
  }
  return references;
}

function referenceTo(type: string, name: unknown): string {
  return `${type} ${String(name)}`;
}

/** Whether a choice refers to one of the tools. */
function isOffered(choice: Members, references: ReadonlySet<string>): boolean {
  const type = String(canonical(choice.type));
  const name = choice.type === 'mcp' ? choice.server_label : choice.name;
  return references.has(name == null ? type : referenceTo(type, name));
}

function labelOf(choice: Members): string {
  const label = choice.type === 'mcp' ? choice.server_label : choice.name;
  return typeof label === 'string' ? label : String(choice.type);
}

/** Refuses a tool choice that names a tool which is not in `tools` (protocol §3.4). Both must be validated. */
function requireChosenTools(toolChoice: unknown, tools: readonly object[]): void {
  if (typeof toolChoice !== 'object' || toolChoice === null) return;
  const choice = toolChoice as Members;
  const choices = choice.type === 'allowed_tools' ? (choice.tools as readonly Members[]) : [choice];
  const references = listReferences(tools as readonly Members[]);
  const absent = choices.find((chosen) => !isOffered(chosen, references));
  if (absent === undefined) return;
  const message = `Tool choice '${clip(labelOf(absent))}' not found in 'tools' parameter.`;
  throw ApiError.badRequest(message, 'tool_choice');
}
