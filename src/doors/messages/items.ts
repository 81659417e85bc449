import type {
  DocumentBlockParam,
  ImageBlockParam,
  MessageParam,
  SearchResultBlockParam,
  TextBlockParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages';

import { type ContentPart, type InputItem, toTextPart } from '../../protocol/index.js';
import { CACHE_MARK, type CacheMarks } from '../cache-marks.js';
import type { Place } from '../places.js';
import { type SentMcpResult, type SentMcpUse, toMcpCall } from './server-tools.js';
import { openSignature } from './signature.js';

/** An item, and where it comes from. */
export type Placed = readonly [item: InputItem, place: Place];

/** What blocks depend on beside themselves. */
export interface Surroundings {
  readonly marks: CacheMarks;
  /** Is told the name of a member that has no effect. */
  readonly ignore: (name: string) => void;
}

/** A part, and the block that it was made from. */
type PlacedPart = readonly [part: ContentPart, path: string];

/** Members of items as blocks have them. */
const RESULT_MEMBERS = { call_id: 'tool_use_id', output: 'content' };
const USE_MEMBERS = { call_id: 'id', arguments: 'input' };
const SEAL_MEMBERS = { encrypted_content: 'signature' };
const REDACTED_MEMBERS = { encrypted_content: 'data' };

/**
 * The items of messages, in their order. What is no call, result or reasoning is one message as long as nothing comes between in the message
 * of the request.
 */
export function toItems(messages: readonly MessageParam[], around: Surroundings): readonly Placed[] {
  const items: Placed[] = [];
  for (const [index, message] of messages.entries()) addItems(message, `messages[${index}]`, around, items);
  return items;
}

function addItems({ role, content }: MessageParam, path: string, around: Surroundings, items: Placed[]): void {
  if (typeof content === 'string') {
    items.push([{ type: 'message', role, content }, { path }]);
    return;
  }
  let parts: PlacedPart[] = [];
  const uses = new Map<string, SentMcpUse>();
  const flush = (): void => {
    if (parts.length === 0) return;
    items.push([
      { type: 'message', role, content: partsOf(parts) },
      { path, parts: pathsOf(parts) },
    ]);
    parts = [];
  };
  // The SDK has those of MCP servers in its beta only.
  const blocks = content as readonly ((typeof content)[number] | SentMcpUse | SentMcpResult)[];
  for (const [index, block] of blocks.entries()) {
    const place = `${path}.content[${index}]`;
    switch (block.type) {
      case 'tool_result': {
        flush();
        const { output, parts: paths } = toOutput(block, place, around);
        const item = { type: 'function_call_output', call_id: block.tool_use_id, output };
        items.push([item, { path: place, members: RESULT_MEMBERS, parts: paths }]);
        break;
      }
      case 'tool_use': {
        flush();
        const { id, name, input } = block;
        around.marks.keep(block, [], place);
        const item = { type: 'function_call', call_id: id, name, arguments: JSON.stringify(input) };
        items.push([item, { path: place, members: USE_MEMBERS }]);
        break;
      }
      case 'mcp_tool_use':
        uses.set(block.id, block);
        break;
      case 'mcp_tool_result': {
        const use = uses.get(block.tool_use_id);
        if (use === undefined) break;
        flush();
        items.push([toMcpCall(use, block), { path: place }]);
        break;
      }
      case 'thinking':
      case 'redacted_thinking': {
        const [signature, members] =
          block.type === 'thinking' ? [block.signature, SEAL_MEMBERS] : [block.data, REDACTED_MEMBERS];
        // The API of Anthropic refuses marks here.
        around.marks.keep(block as object, [], place);
        const sealed = openSignature(signature);
        if (sealed === null) break;
        flush();
        items.push([
          { type: 'reasoning', summary: [], encrypted_content: sealed },
          { path: place, members },
        ]);
        break;
      }
      case 'text':
        // Clients send back empty texts, which say nothing.
        for (const part of around.marks.keep(block, block.text === '' ? [] : [toTextPart(role, block.text)], place)) {
          parts.push([part, place]);
        }
        break;
      case 'image':
      case 'document':
      case 'search_result':
        for (const part of toParts(block, place, around)) parts.push([part, place]);
        break;
      default:
      // Searches of the web, whose results only Anthropic's models can read; others are refused by the rules of the body.
    }
  }
  flush();
}

const partsOf = (parts: readonly PlacedPart[]): readonly ContentPart[] => parts.map(([part]) => part);
const pathsOf = (parts: readonly PlacedPart[]): readonly string[] => parts.map(([, path]) => path);

type GivenBlock = TextBlockParam | ImageBlockParam | DocumentBlockParam | SearchResultBlockParam;

/** What a user or a tool says, in parts with the marks of the block and of what stands in it. */
function toParts(block: GivenBlock, path: string, around: Surroundings): readonly ContentPart[] {
  return around.marks.keep(block, toPlainParts(block, path, around), path);
}

function toPlainParts(block: GivenBlock, path: string, around: Surroundings): readonly ContentPart[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'input_text', text: block.text }];
    case 'image':
      if (block.transformations != null) around.ignore('image.transformations');
      return [toImage(block)];
    case 'document':
      noteCitations(block, around);
      return toDocument(block, path, around);
    case 'search_result': {
      noteCitations(block, around);
      const { title, source, content } = block;
      const text = [title, source, ...content.map((each) => each.text)].join('\n');
      // The texts of a search result become one part, so that the last of their marks counts.
      const marked = content.findLastIndex((each) => each[CACHE_MARK] != null);
      return around.marks.keep(content[marked] ?? {}, [{ type: 'input_text', text }], `${path}.content[${marked}]`);
    }
  }
}

/** Notes that citations were asked for: only Anthropic's models make them, so that the answer has none. */
function noteCitations(
  { type, citations }: DocumentBlockParam | SearchResultBlockParam,
  { ignore }: Surroundings,
): void {
  if (citations?.enabled === true) ignore(`${type}.citations`);
}

function toImage({ source }: ImageBlockParam): ContentPart {
  switch (source.type) {
    case 'base64':
      return { type: 'input_image', image_url: `data:${source.media_type};base64,${source.data}` };
    case 'url':
      return { type: 'input_image', image_url: source.url };
    case 'file':
      return { type: 'input_image', file_id: source.file_id };
  }
}

/** A document whose text is given is text; what is known of it goes before. */
function toDocument(
  { source, title, context }: DocumentBlockParam,
  path: string,
  around: Surroundings,
): readonly ContentPart[] {
  const about = [title, context].filter((text) => text != null && text !== '').join('\n');
  const before = about === '' ? [] : [{ type: 'input_text', text: about }];
  switch (source.type) {
    case 'base64': {
      const filename = title ?? 'document.pdf';
      return [
        ...before,
        { type: 'input_file', filename, file_data: `data:${source.media_type};base64,${source.data}` },
      ];
    }
    case 'url':
      return [...before, { type: 'input_file', file_url: source.url }];
    case 'file':
      return [...before, { type: 'input_file', file_id: source.file_id }];
    case 'text':
      return [...before, { type: 'input_text', text: source.data }];
    case 'content': {
      const { content } = source;
      if (typeof content === 'string') return [...before, { type: 'input_text', text: content }];
      const given = content as readonly GivenBlock[];
      return [...before, ...given.flatMap((each, at) => toParts(each, `${path}.source.content[${at}]`, around))];
    }
  }
}

/** The Responses API has no mark for errors: the model reads it as text. */
const ERROR_MARK = 'Error: ';

/** What a tool has given back, and the paths of its parts. */
interface Output {
  readonly output: string | readonly ContentPart[];
  readonly parts: readonly string[];
}

function toOutput(block: ToolResultBlockParam, path: string, around: Surroundings): Output {
  const { content, is_error: isError } = block;
  const error = isError === true ? ERROR_MARK : '';
  // Clients send null for a tool that says nothing.
  const blocks =
    content == null ? [] : typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const given = [...(blocks as readonly GivenBlock[]).entries()].flatMap(([index, each]) => {
    const place = typeof content === 'string' ? `${path}.content` : `${path}.content[${index}]`;
    return toParts(each, place, around).map((part): PlacedPart => [part, place]);
  });
  const parts = around.marks.keep(block, partsOf(given), path);
  const [first] = parts;
  if (first === undefined) return { output: error, parts: [] };
  if (parts.length === 1 && first.type === 'input_text' && !(CACHE_MARK in first)) {
    return { output: error + String(first['text']), parts: [] };
  }
  if (error === '') return { output: parts, parts: pathsOf(given) };
  return { output: [{ type: 'input_text', text: error.trim() }, ...parts], parts: [path, ...pathsOf(given)] };
}
