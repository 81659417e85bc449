import { IsBoolean, IsObject, IsOptional, IsString, MinLength } from 'class-validator';

import { listOf, nested, Satisfies, stringOr, unionBy } from '../../validation/index.js';

/** The rules of messages in the form of Anthropic. What they do not name, such as `cache_control`, is accepted. */

class TextBlock {
  @IsString()
  readonly text!: string;
}

class Base64Source {
  @IsString()
  readonly media_type!: string;

  @IsString()
  @MinLength(1)
  readonly data!: string;
}

class UrlSource {
  @IsString()
  @MinLength(1)
  readonly url!: string;
}

class FileSource {
  @IsString()
  @MinLength(1)
  readonly file_id!: string;
}

class PlainSource {
  @IsString()
  readonly data!: string;
}

const text = nested(TextBlock);
const base64 = nested(Base64Source);
const url = nested(UrlSource);
const file = nested(FileSource);

class ImageBlock {
  @Satisfies(
    unionBy(
      'type',
      new Map([
        ['base64', base64],
        ['url', url],
        ['file', file],
      ]),
    ),
  )
  readonly source!: object;
}

const image = nested(ImageBlock);

const textOr = (blocks: ReadonlyMap<string, ReturnType<typeof nested>>): ReturnType<typeof nested> =>
  stringOr({
    kind: 'array',
    check: listOf(unionBy('type', blocks), 'an array of blocks'),
    expected: 'one of a string or an array of blocks',
  });

class ContentSource {
  @Satisfies(
    textOr(
      new Map([
        ['text', text],
        ['image', image],
      ]),
    ),
  )
  readonly content!: string | readonly object[];
}

class DocumentBlock {
  @Satisfies(
    unionBy(
      'type',
      new Map([
        ['base64', base64],
        ['text', nested(PlainSource)],
        ['content', nested(ContentSource)],
        ['url', url],
        ['file', file],
      ]),
    ),
  )
  readonly source!: object;

  @IsOptional()
  @IsString()
  readonly title?: string | null;

  @IsOptional()
  @IsString()
  readonly context?: string | null;
}

class SearchResultBlock {
  @IsString()
  readonly source!: string;

  @IsString()
  readonly title!: string;

  @Satisfies(listOf(unionBy('type', new Map([['text', text]])), 'an array of blocks'))
  readonly content!: readonly object[];
}

/** What users and tools may say. */
const given = new Map([
  ['text', text],
  ['image', image],
  ['document', nested(DocumentBlock)],
  ['search_result', nested(SearchResultBlock)],
]);

class ToolResultBlock {
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

class ToolUseBlock {
  @IsString()
  @MinLength(1)
  readonly id!: string;

  @IsString()
  @MinLength(1)
  readonly name!: string;

  @IsObject()
  readonly input!: object;
}

class ThinkingBlock {
  @IsString()
  readonly thinking!: string;

  @IsString()
  readonly signature!: string;
}

class RedactedThinkingBlock {
  @IsString()
  readonly data!: string;
}

class AnthropicUserMessage {
  @Satisfies(textOr(new Map([...given, ['tool_result', nested(ToolResultBlock)]])))
  readonly content!: string | readonly object[];
}

class AnthropicAssistantMessage {
  @Satisfies(
    textOr(
      new Map([
        ['text', text],
        ['tool_use', nested(ToolUseBlock)],
        ['thinking', nested(ThinkingBlock)],
        ['redacted_thinking', nested(RedactedThinkingBlock)],
      ]),
    ),
  )
  readonly content!: string | readonly object[];
}

/** A text, or blocks of text. */
export const texts = textOr(new Map([['text', text]]));

class AnthropicSystemMessage {
  @Satisfies(texts)
  readonly content!: string | readonly object[];
}

/** A message of a conversation. */
export const message = unionBy(
  'role',
  new Map([
    ['user', nested(AnthropicUserMessage)],
    ['assistant', nested(AnthropicAssistantMessage)],
    ['system', nested(AnthropicSystemMessage)],
  ]),
);
