import type { Item } from '../../../protocol/index.js';
import { isObject, objectsIn } from '../../../validation/index.js';

/** What happened without a call that a chat model could have made: a line that says what, and what came of it. */
export interface HistoryNote {
  readonly title: string;
  /** Content parts; none if the title says it all. */
  readonly parts: readonly unknown[];
}

/** Their effect is elsewhere: in the tools of the request, in its settings, or in what stands before them. */
const WITHOUT_TEXT: ReadonlySet<string> = new Set([
  'additional_tools',
  'compaction_trigger',
  'configuration_update',
  'mcp_list_tools',
  'tool_search_call',
  'tool_search_output',
]);

/** What each item type tells a chat model (docs/providers.md#history). */
const READ_NOTE: Readonly<Record<string, (item: Item) => HistoryNote>> = {
  web_search_call: ({ action, status }) => {
    const { type, query, queries, url, pattern, sources } = isObject(action) ? action : {};
    const found = objectsIn(sources).map((source) => textPart(source.url));
    if (type === 'open_page') return note(`The web page ${words(url)} was opened${unless(status)}.`);
    if (type === 'find_in_page') return note(`${quoted(pattern)} was looked for in ${words(url)}${unless(status)}.`);
    return note(`The web was searched for ${quoted(queries ?? query)}${unless(status)}.`, ...found);
  },
  file_search_call: ({ queries, results, status }) =>
    note(`Files were searched for ${quoted(queries)}${unless(status)}.`, ...objectsIn(results).map(toFoundText)),
  code_interpreter_call: ({ code, outputs, status }) =>
    note(`This code was run${unless(status)}:\n${words(code)}`, ...objectsIn(outputs).map(toCodeOutput)),
  image_generation_call: ({ result, status, revised_prompt: prompt, output_format: format }) => {
    const title = `An image was made${prompt == null ? '' : ` of ${quoted(prompt)}`}${unless(status)}.`;
    if (typeof result !== 'string') return note(title);
    return note(title, imagePart(`data:image/${typeof format === 'string' ? format : 'png'};base64,${result}`));
  },
  computer_call: ({ action, actions }) => note(`The computer was used: ${words(actions ?? action)}`),
  computer_call_output: ({ output }) => {
    const { image_url: url, file_id: fileId } = isObject(output) ? output : {};
    return note('The screen of the computer:', { type: 'input_image', image_url: url, file_id: fileId });
  },
  mcp_approval_request: ({ server_label: server, name, arguments: given }) =>
    note(`Approval was asked for a call of ${words(name)} of the MCP server ${words(server)}: ${words(given)}`),
  mcp_approval_response: ({ approve, reason }) =>
    note(`The call was ${approve === true ? 'approved' : 'denied'}${reason == null ? '.' : `: ${words(reason)}`}`),
  program: ({ code }) => note(`This program was run:\n${words(code)}`),
  program_output: ({ result, status }) => note(`The output of the program${unless(status)}:`, textPart(result)),
  multi_agent_call: ({ action, arguments: given }) => note(`Agents: ${words(action)} ${words(given)}`),
  multi_agent_call_output: ({ action, output }) => note(`Agents, output of ${words(action)}:`, ...objectsIn(output)),
};

/** What an item tells a chat model that is no message, reasoning or call of its own; undefined for what has no text. */
export function readNote(item: Item): HistoryNote | undefined {
  if (WITHOUT_TEXT.has(item.type)) return undefined;
  const read = Object.hasOwn(READ_NOTE, item.type) ? READ_NOTE[item.type] : undefined;
  return read?.(item) ?? toUnknown(item);
}

/** A type that this version does not know: its members as they are. */
function toUnknown({ id: _, type, ...members }: Item): HistoryNote {
  return note(`An item of type ${type}:`, textPart(members));
}

function note(title: string, ...parts: readonly unknown[]): HistoryNote {
  return { title, parts };
}

function toFoundText({ filename, file_id: fileId, text }: Readonly<Record<string, unknown>>): object {
  return textPart(`[${words(filename ?? fileId ?? 'file')}] ${words(text)}`);
}

function toCodeOutput({ type, logs, url }: Readonly<Record<string, unknown>>): object {
  return type === 'image' ? imagePart(url) : textPart(logs);
}

function textPart(value: unknown): object {
  return { type: 'input_text', text: words(value) };
}

/** Others could be fetched by nobody but the server that has made them. */
function imagePart(url: unknown): object {
  return words(url).startsWith('data:') ? { type: 'input_image', image_url: url } : textPart(`Image: ${words(url)}`);
}

/** What did not come to its end says so. */
function unless(status: unknown): string {
  return status === undefined || status === null || status === 'completed' ? '' : ` (${words(status)})`;
}

function quoted(value: unknown): string {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  return texts.map((text) => `"${words(text)}"`).join(', ');
}

function words(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : JSON.stringify(value);
}
