import type { Item } from '../../../protocol/index.js';
import { isObject, objectsIn } from '../../../validation/index.js';
import { toWords } from './history-calls.js';

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

/** What each item type tells a chat model (docs/chat-completions.md#history). */
const READ_NOTE: Readonly<Record<string, (item: Item) => HistoryNote>> = {
  web_search_call: ({ action, status }) => {
    const { type, query, queries, url, pattern, sources } = isObject(action) ? action : {};
    const found = objectsIn(sources).map((source) => textPart(source.url));
    if (type === 'open_page') return note(`The web page ${toWords(url)} was opened${unless(status)}.`);
    if (type === 'find_in_page') return note(`${quoted(pattern)} was looked for in ${toWords(url)}${unless(status)}.`);
    return note(`The web was searched for ${quoted(queries ?? query)}${unless(status)}.`, ...found);
  },
  file_search_call: ({ queries, results, status }) =>
    note(`Files were searched for ${quoted(queries)}${unless(status)}.`, ...objectsIn(results).map(toFoundText)),
  code_interpreter_call: ({ code, outputs, status }) =>
    note(`This code was run${unless(status)}:\n${toWords(code)}`, ...objectsIn(outputs).map(toCodeOutput)),
  image_generation_call: ({ result, status, revised_prompt: prompt, output_format: format }) => {
    const title = `An image was made${prompt == null ? '' : ` of ${quoted(prompt)}`}${unless(status)}.`;
    if (typeof result !== 'string') return note(title);
    return note(title, imagePart(`data:image/${typeof format === 'string' ? format : 'png'};base64,${result}`));
  },
  computer_call: ({ action, actions }) => note(`The computer was used: ${toWords(actions ?? action)}`),
  computer_call_output: ({ output }) => {
    const { image_url: url, file_id: fileId } = isObject(output) ? output : {};
    return note('The screen of the computer:', { type: 'input_image', image_url: url, file_id: fileId });
  },
  mcp_approval_request: ({ server_label: server, name, arguments: given }) =>
    note(`Approval was asked for a call of ${toWords(name)} of the MCP server ${toWords(server)}: ${toWords(given)}`),
  mcp_approval_response: ({ approve, reason }) =>
    note(`The call was ${approve === true ? 'approved' : 'denied'}${reason == null ? '.' : `: ${toWords(reason)}`}`),
  program: ({ code }) => note(`This program was run:\n${toWords(code)}`),
  program_output: ({ result, status }) => note(`The output of the program${unless(status)}:`, textPart(result)),
  multi_agent_call: ({ action, arguments: given }) => note(`Agents: ${toWords(action)} ${toWords(given)}`),
  multi_agent_call_output: ({ action, output }) => note(`Agents, output of ${toWords(action)}:`, ...objectsIn(output)),
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
  return textPart(`[${toWords(filename ?? fileId ?? 'file')}] ${toWords(text)}`);
}

function toCodeOutput({ type, logs, url }: Readonly<Record<string, unknown>>): object {
  return type === 'image' ? imagePart(url) : textPart(logs);
}

function textPart(value: unknown): object {
  return { type: 'input_text', text: toWords(value) };
}

/** An image as it is if the URL holds it; other addresses are often private to the server that made the image. */
function imagePart(url: unknown): object {
  return toWords(url).startsWith('data:')
    ? { type: 'input_image', image_url: url }
    : textPart(`Image: ${toWords(url)}`);
}

/** What did not come to its end says so. */
function unless(status: unknown): string {
  return status === undefined || status === null || status === 'completed' ? '' : ` (${toWords(status)})`;
}

function quoted(value: unknown): string {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  return texts.map((text) => `"${toWords(text)}"`).join(', ');
}
