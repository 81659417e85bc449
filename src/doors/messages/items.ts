import type {
  DocumentBlockParam,
  ImageBlockParam,
  MessageParam,
  SearchResultBlockParam,
  TextBlockParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages';

import type { ContentPart, InputItem } from '../../protocol/index.js';
import { openSignature } from './signature.js';

/** The items of a message, in its order. What is no call, result or reasoning is one message as long as nothing comes between. */
export function* toItems({ role, content }: MessageParam): Generator<InputItem> {
  if (typeof content === 'string') {
    yield { type: 'message', role, content };
    return;
  }
  let parts: ContentPart[] = [];
  const flush = function* (): Generator<InputItem> {
    if (parts.length > 0) yield { type: 'message', role, content: parts };
    parts = [];
  };
  for (const block of content) {
    switch (block.type) {
      case 'tool_result':
        yield* flush();
        yield { type: 'function_call_output', call_id: block.tool_use_id, output: toOutput(block) };
        break;
      case 'tool_use':
        yield* flush();
        yield {
          type: 'function_call',
          call_id: block.id,
          name: block.name,
          arguments: JSON.stringify(block.input),
        };
        break;
      case 'thinking': {
        const sealed = openSignature(block.signature);
        if (sealed === null) break;
        yield* flush();
        yield { type: 'reasoning', summary: [], encrypted_content: sealed };
        break;
      }
      case 'text':
        // Clients send back empty texts, which say nothing.
        if (block.text !== '') parts.push(toTextPart(role, block.text));
        break;
      case 'image':
      case 'document':
      case 'search_result':
        parts.push(...toParts(block));
        break;
      default:
      // `redacted_thinking` is not ours.
    }
  }
  yield* flush();
}

function toTextPart(role: MessageParam['role'], text: string): ContentPart {
  return role === 'assistant' ? { type: 'output_text', text, annotations: [] } : { type: 'input_text', text };
}

type GivenBlock = TextBlockParam | ImageBlockParam | DocumentBlockParam | SearchResultBlockParam;

/** What a user or a tool says, in parts. */
function toParts(block: GivenBlock): readonly ContentPart[] {
  switch (block.type) {
    case 'text':
      return [{ type: 'input_text', text: block.text }];
    case 'image':
      return [toImage(block)];
    case 'document':
      return toDocument(block);
    case 'search_result': {
      const { title, source, content } = block;
      const text = [title, source, ...content.map((each) => each.text)].join('\n');
      return [{ type: 'input_text', text }];
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
function toDocument({ source, title, context }: DocumentBlockParam): readonly ContentPart[] {
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
      return [...before, ...(content as readonly GivenBlock[]).flatMap(toParts)];
    }
  }
}

/** The Responses API has no mark for errors: the model reads it as text. */
const ERROR_MARK = 'Error: ';

function toOutput({ content = '', is_error: isError = false }: ToolResultBlockParam): string | readonly ContentPart[] {
  const mark = isError ? ERROR_MARK : '';
  if (typeof content === 'string') return mark + content;
  const parts = (content as readonly GivenBlock[]).flatMap(toParts);
  const [first] = parts;
  if (parts.length === 0) return mark;
  if (parts.length === 1 && first?.type === 'input_text') return mark + String(first['text']);
  return isError ? [{ type: 'input_text', text: ERROR_MARK.trim() }, ...parts] : parts;
}
