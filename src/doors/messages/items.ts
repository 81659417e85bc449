import type {
  DocumentBlockParam,
  ImageBlockParam,
  MessageParam,
  SearchResultBlockParam,
  TextBlockParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages';

import type { ContentPart, InputItem } from '../../protocol/index.js';
import { CACHE_MARK, type CacheMarks } from '../cache-marks.js';
import type { Place } from '../places.js';
import { openSignature } from './signature.js';

/** An item, and where it comes from. */
export type Placed = readonly [item: InputItem, place: Place];

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
export function toItems(messages: readonly MessageParam[], marks: CacheMarks): readonly Placed[] {
  const items: Placed[] = [];
  for (const [index, message] of messages.entries()) addItems(message, `messages[${index}]`, marks, items);
  return items;
}

function addItems({ role, content }: MessageParam, path: string, marks: CacheMarks, items: Placed[]): void {
  if (typeof content === 'string') {
    items.push([{ type: 'message', role, content }, { path }]);
    return;
  }
  let parts: PlacedPart[] = [];
  const flush = (): void => {
    if (parts.length === 0) return;
    items.push([
      { type: 'message', role, content: partsOf(parts) },
      { path, parts: pathsOf(parts) },
    ]);
    parts = [];
  };
  for (const [index, block] of content.entries()) {
    const place = `${path}.content[${index}]`;
    switch (block.type) {
      case 'tool_result': {
        flush();
        const { output, parts: paths } = toOutput(block, place, marks);
        const item = { type: 'function_call_output', call_id: block.tool_use_id, output };
        items.push([item, { path: place, members: RESULT_MEMBERS, parts: paths }]);
        break;
      }
      case 'tool_use': {
        flush();
        const { id, name, input } = block;
        marks.keep(block, [], place);
        const item = { type: 'function_call', call_id: id, name, arguments: JSON.stringify(input) };
        items.push([item, { path: place, members: USE_MEMBERS }]);
        break;
      }
      case 'thinking':
      case 'redacted_thinking': {
        const [signature, members] =
          block.type === 'thinking' ? [block.signature, SEAL_MEMBERS] : [block.data, REDACTED_MEMBERS];
        // The API of Anthropic refuses marks here.
        marks.keep(block as object, [], place);
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
        for (const part of marks.keep(block, block.text === '' ? [] : [toTextPart(role, block.text)], place)) {
          parts.push([part, place]);
        }
        break;
      case 'image':
      case 'document':
      case 'search_result':
        for (const part of toParts(block, place, marks)) parts.push([part, place]);
        break;
      default:
      // Refused by the rules of the body.
    }
  }
  flush();
}

const partsOf = (parts: readonly PlacedPart[]): readonly ContentPart[] => parts.map(([part]) => part);
const pathsOf = (parts: readonly PlacedPart[]): readonly string[] => parts.map(([, path]) => path);

function toTextPart(role: MessageParam['role'], text: string): ContentPart {
  return role === 'assistant' ? { type: 'output_text', text, annotations: [] } : { type: 'input_text', text };
}

type GivenBlock = TextBlockParam | ImageBlockParam | DocumentBlockParam | SearchResultBlockParam;

/** What a user or a tool says, in parts with the marks of the block and of what stands in it. */
function toParts(block: GivenBlock, path: string, marks: CacheMarks): readonly ContentPart[] {
  return marks.keep(block, toPlainParts(block, path, marks), path);
}

function toPlainParts(block: GivenBlock, path: string, marks: CacheMarks): readonly ContentPart[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'input_text', text: block.text }];
    case 'image':
      return [toImage(block)];
    case 'document':
      return toDocument(block, path, marks);
    case 'search_result': {
      const { title, source, content } = block;
      const text = [title, source, ...content.map((each) => each.text)].join('\n');
      // Its texts are one part, so that the last mark of them counts.
      const marked = content.findLastIndex((each) => each[CACHE_MARK] != null);
      return marks.keep(content[marked] ?? {}, [{ type: 'input_text', text }], `${path}.content[${marked}]`);
    }
  }
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
  marks: CacheMarks,
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
      return [...before, ...given.flatMap((each, at) => toParts(each, `${path}.source.content[${at}]`, marks))];
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

function toOutput(block: ToolResultBlockParam, path: string, marks: CacheMarks): Output {
  const { content, is_error: isError } = block;
  const error = isError === true ? ERROR_MARK : '';
  // Clients send null for a tool that says nothing.
  const blocks =
    content == null ? [] : typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const given = [...(blocks as readonly GivenBlock[]).entries()].flatMap(([index, each]) => {
    const place = typeof content === 'string' ? `${path}.content` : `${path}.content[${index}]`;
    return toParts(each, place, marks).map((part): PlacedPart => [part, place]);
  });
  const parts = marks.keep(block, partsOf(given), path);
  const [first] = parts;
  if (first === undefined) return { output: error, parts: [] };
  if (parts.length === 1 && first.type === 'input_text' && !(CACHE_MARK in first)) {
    return { output: error + String(first['text']), parts: [] };
  }
  if (error === '') return { output: parts, parts: pathsOf(given) };
  return { output: [{ type: 'input_text', text: error.trim() }, ...parts], parts: [path, ...pathsOf(given)] };
}
