import { Allow, IsArray, IsIn, IsObject, IsOptional, IsString } from 'class-validator';

import {
  type Check,
  Closed,
  described,
  emptyArray,
  every,
  listOf,
  nested,
  Satisfies,
  stringOr,
  unionBy,
  Violation,
} from '../../validation/index.js';

/** A value that the turn has no place for, in whatever form. */
function unsupported(reason: string): Check {
  const violation = (): Violation => new Violation('unsupported_value', (path) => `Invalid '${path}': ${reason}`);
  return described(violation, { not: {} });
}

const noAudio = unsupported('audio is not supported.');

class ChatInputPart {
  @Allow()
  readonly type!: unknown;

  @IsOptional()
  @IsObject()
  readonly prompt_cache_breakpoint?: object | null;

  // Of gateways, which take it as Anthropic does (cache-marks.ts).
  @IsOptional()
  @IsObject()
  readonly cache_control?: object | null;
}

@Closed()
class ChatTextPart extends ChatInputPart {
  @IsString()
  readonly text!: string;
}

@Closed()
class ChatRefusalPart {
  @Allow()
  readonly type!: unknown;

  @IsString()
  readonly refusal!: string;
}

@Closed()
class ChatImageUrl {
  @IsString()
  readonly url!: string;

  @IsOptional()
  @IsIn(['auto', 'low', 'high', 'original'])
  readonly detail?: string | null;
}

@Closed()
class ChatImagePart extends ChatInputPart {
  @Satisfies(nested(ChatImageUrl))
  readonly image_url!: ChatImageUrl;
}

@Closed()
class ChatFile {
  @IsOptional()
  @IsString()
  readonly file_data?: string | null;

  @IsOptional()
  @IsString()
  readonly file_id?: string | null;

  @IsOptional()
  @IsString()
  readonly filename?: string | null;
}

@Closed()
class ChatFilePart extends ChatInputPart {
  @Satisfies(nested(ChatFile))
  readonly file!: ChatFile;
}

const text = nested(ChatTextPart);

const contentOf = (parts: Readonly<Record<string, Check>>): Check =>
  stringOr({
    kind: 'array',
    check: listOf(unionBy('type', parts)),
    expected: 'one of a string or array of objects',
  });

const media = {
  text,
  image_url: nested(ChatImagePart),
  file: nested(ChatFilePart),
  input_audio: noAudio,
};

/** What the system, a developer or the user says; `name` has no place in a turn. */
@Closed()
class ChatInputMessage {
  @Allow()
  readonly role!: string;

  @Satisfies(contentOf(media))
  readonly content!: string | readonly object[];
}

/** The name and the arguments of a call. */
@Closed()
class ChatFunctionCall {
  @IsString()
  readonly name!: string;

  @IsString()
  readonly arguments!: string;

  // Helpers of the official SDK add this.
  @Allow()
  readonly parsed_arguments?: unknown;
}

/** The name and the input of a call of a custom tool. */
@Closed()
class ChatCustomCall {
  @IsString()
  readonly name!: string;

  @IsString()
  readonly input!: string;
}

class ChatCallMembers {
  // Deltas that a client has added up have this.
  @Allow()
  readonly index?: unknown;

  @IsString()
  readonly id!: string;
}

@Closed()
class ChatFunctionToolCall extends ChatCallMembers {
  @Allow()
  readonly type!: unknown;

  @Satisfies(nested(ChatFunctionCall))
  readonly function!: ChatFunctionCall;
}

@Closed()
class ChatCustomToolCall extends ChatCallMembers {
  @Allow()
  readonly type!: unknown;

  @Satisfies(nested(ChatCustomCall))
  readonly custom!: ChatCustomCall;
}

const toolCall = unionBy('type', { function: nested(ChatFunctionToolCall), custom: nested(ChatCustomToolCall) });

/** What the model has said. Its reasoning stands in members that Chat Completions servers have agreed on, not OpenAI. */
@Closed()
class ChatAssistantMessage {
  @Allow()
  readonly role!: string;

  @IsOptional()
  @Satisfies(contentOf({ text, refusal: nested(ChatRefusalPart) }))
  readonly content?: string | readonly object[] | null;

  @IsOptional()
  @IsString()
  readonly refusal?: string | null;

  @IsOptional()
  @Satisfies(listOf(toolCall))
  readonly tool_calls?: readonly object[] | null;

  @IsOptional()
  @IsString()
  readonly reasoning_content?: string | null;

  @IsOptional()
  @IsString()
  readonly reasoning?: string | null;

  @IsOptional()
  @IsArray()
  readonly reasoning_details?: readonly unknown[] | null;

  @IsOptional()
  @Satisfies(noAudio)
  readonly audio?: null;

  @IsOptional()
  @Satisfies(unsupported("use 'tool_calls' instead."))
  readonly function_call?: null;

  // What an answer has and a model need not see again.
  @Allow()
  readonly annotations?: unknown;

  @Allow()
  readonly images?: unknown;

  @Allow()
  readonly parsed?: unknown;
}

/** The output of a call. */
@Closed()
class ChatToolMessage {
  @Allow()
  readonly role!: string;

  @IsString()
  readonly tool_call_id!: string;

  @Satisfies(contentOf(media))
  readonly content!: string | readonly object[];

  // The name of the tool, which its call says.
  @Allow()
  readonly name?: unknown;
}

const input = nested(ChatInputMessage);

const message = unionBy('role', {
  developer: input,
  system: input,
  user: input,
  assistant: nested(ChatAssistantMessage),
  tool: nested(ChatToolMessage),
  function: unsupported("the role 'function' is not supported. Use 'tool' with 'tool_call_id' instead."),
});

const notEmpty = described((value) => (Array.isArray(value) && value.length === 0 ? emptyArray() : null), {
  type: 'array',
  minItems: 1,
});

/** `messages`: at least one, of any role but the one that `tool` has replaced. */
export const messages = every([listOf(message, 'an array of objects'), notEmpty]);
