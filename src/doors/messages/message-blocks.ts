import { Allow, IsBoolean, IsObject, IsOptional, IsString, MinLength } from 'class-validator';

import { type Check, Closed, listOf, nested, Satisfies, stringOr, unionBy } from '../../validation/index.js';

/** The rules of messages in the form of Anthropic. */

class Block {
  @Allow()
  readonly type!: unknown;

  @IsOptional()
  @IsObject()
  readonly cache_control?: object | null;
}

class Source {
  @Allow()
  readonly type!: unknown;
}

class Role {
  @Allow()
  readonly role!: unknown;
}

@Closed()
class TextBlock extends Block {
  // An answer that is sent back has this.
  @Allow()
  readonly citations?: unknown;

  @IsString()
  readonly text!: string;
}

@Closed()
class Base64Source extends Source {
  @IsString()
  readonly media_type!: string;

  @IsString()
  @MinLength(1)
  readonly data!: string;
}

@Closed()
class UrlSource extends Source {
  @IsString()
  @MinLength(1)
  readonly url!: string;
}

@Closed()
class FileSource extends Source {
  @IsString()
  @MinLength(1)
  readonly file_id!: string;
}

@Closed()
class PlainSource extends Source {
  // There is one.
  @Allow()
  readonly media_type?: unknown;

  @IsString()
  readonly data!: string;
}

const text = nested(TextBlock);
const base64 = nested(Base64Source);
const url = nested(UrlSource);
const file = nested(FileSource);

@Closed()
class ImageBlock extends Block {
  // How images are made smaller, which upstreams do as they like: without effect (items.ts).
  @IsOptional()
  @IsObject()
  readonly transformations?: object | null;

  @Satisfies(unionBy('type', { base64, url, file }))
  readonly source!: object;
}

const image = nested(ImageBlock);

const textOr = (blocks: Readonly<Record<string, Check>>): Check =>
  stringOr({
    kind: 'array',
    check: listOf(unionBy('type', blocks), 'an array of blocks'),
    expected: 'one of a string or an array of blocks',
  });

@Closed()
class ContentSource extends Source {
  @Satisfies(textOr({ text, image }))
  readonly content!: string | readonly object[];
}

@Closed()
class Citations {
  @IsOptional()
  @IsBoolean()
  readonly enabled?: boolean | null;
}

/** What can be cited by Anthropic's models: without effect (items.ts). */
class CitedBlock extends Block {
  @IsOptional()
  @Satisfies(nested(Citations))
  readonly citations?: Citations | null;
}

@Closed()
class DocumentBlock extends CitedBlock {
  @Satisfies(
    unionBy('type', {
      base64,
      text: nested(PlainSource),
      content: nested(ContentSource),
      url,
      file,
    }),
  )
  readonly source!: object;

  @IsOptional()
  @IsString()
  readonly title?: string | null;

  @IsOptional()
  @IsString()
  readonly context?: string | null;
}

@Closed()
class SearchResultBlock extends CitedBlock {
  @IsString()
  readonly source!: string;

  @IsString()
  readonly title!: string;

  @Satisfies(listOf(unionBy('type', { text }), 'an array of blocks'))
  readonly content!: readonly object[];
}

/** What users and tools may say. */
const given = {
  text,
  image,
  document: nested(DocumentBlock),
  search_result: nested(SearchResultBlock),
};

@Closed()
class ToolResultBlock extends Block {
  // Which of its toolsets a client has called; the call says it, too.
  @Allow()
  readonly toolset_name?: unknown;

  @IsString()
  @MinLength(1)
  readonly tool_use_id!: string;

  @IsOptional()
  @Satisfies(textOr(given))
  readonly content?: string | readonly object[] | null;

  @IsOptional()
  @IsBoolean()
  readonly is_error?: boolean | null;
}

@Closed()
class ToolUseBlock extends Block {
  @Allow()
  readonly toolset_name?: unknown;

  // An answer that is sent back has this.
  @Allow()
  readonly caller?: unknown;

  @IsString()
  @MinLength(1)
  readonly id!: string;

  @IsString()
  @MinLength(1)
  readonly name!: string;

  @IsObject()
  readonly input!: object;
}

/** What the service has called itself (server-tools.ts). */
@Closed()
class McpUseBlock extends Block {
  @IsString()
  @MinLength(1)
  readonly id!: string;

  @IsString()
  @MinLength(1)
  readonly name!: string;

  @IsString()
  @MinLength(1)
  readonly server_name!: string;

  @IsObject()
  readonly input!: object;
}

@Closed()
class McpResultBlock extends Block {
  @IsString()
  @MinLength(1)
  readonly tool_use_id!: string;

  @IsOptional()
  @Satisfies(textOr({ text }))
  readonly content?: string | readonly object[] | null;

  @IsOptional()
  @IsBoolean()
  readonly is_error?: boolean | null;
}

/** A search of the web, and its results: of no use to another model than Anthropic's. */
class SearchBlock extends Block {}

@Closed()
class ThinkingBlock extends Block {
  @IsString()
  readonly thinking!: string;

  @IsString()
  readonly signature!: string;
}

@Closed()
class RedactedThinkingBlock extends Block {
  @IsString()
  readonly data!: string;
}

@Closed()
class AnthropicUserMessage extends Role {
  @Satisfies(textOr({ ...given, tool_result: nested(ToolResultBlock) }))
  readonly content!: string | readonly object[];
}

@Closed()
class AnthropicAssistantMessage extends Role {
  @Satisfies(
    textOr({
      text,
      tool_use: nested(ToolUseBlock),
      thinking: nested(ThinkingBlock),
      redacted_thinking: nested(RedactedThinkingBlock),
      mcp_tool_use: nested(McpUseBlock),
      mcp_tool_result: nested(McpResultBlock),
      server_tool_use: nested(SearchBlock),
      web_search_tool_result: nested(SearchBlock),
    }),
  )
  readonly content!: string | readonly object[];
}

/** A text, or blocks of text. */
export const texts = textOr({ text });

@Closed()
class AnthropicSystemMessage extends Role {
  @Satisfies(texts)
  readonly content!: string | readonly object[];
}

/** A message of a conversation. */
export const message = unionBy('role', {
  user: nested(AnthropicUserMessage),
  assistant: nested(AnthropicAssistantMessage),
  system: nested(AnthropicSystemMessage),
});
