import { Allow, IsBoolean, IsIn, IsObject, IsOptional, IsString } from 'class-validator';

import { Closed, listOf, nested, Satisfies, stringOr, unionBy } from '../../validation/index.js';

@Closed()
class ChatFunction {
  @IsString()
  readonly name!: string;

  @IsOptional()
  @IsString()
  readonly description?: string | null;

  @IsOptional()
  @IsObject()
  readonly parameters?: object | null;

  @IsOptional()
  @IsBoolean()
  readonly strict?: boolean | null;
}

@Closed()
class ChatFunctionTool {
  @Allow()
  readonly type!: unknown;

  @Satisfies(nested(ChatFunction))
  readonly function!: ChatFunction;
}

@Closed()
class ChatGrammar {
  @IsString()
  readonly definition!: string;

  @IsIn(['lark', 'regex'])
  readonly syntax!: string;
}

@Closed()
class ChatGrammarFormat {
  @Allow()
  readonly type!: unknown;

  @Satisfies(nested(ChatGrammar))
  readonly grammar!: ChatGrammar;
}

@Closed()
class ChatTextFormat {
  @IsString()
  readonly type!: string;
}

@Closed()
class ChatCustom {
  @IsString()
  readonly name!: string;

  @IsOptional()
  @IsString()
  readonly description?: string | null;

  @IsOptional()
  @Satisfies(unionBy('type', { text: nested(ChatTextFormat), grammar: nested(ChatGrammarFormat) }))
  readonly format?: object | null;
}

@Closed()
class ChatCustomTool {
  @Allow()
  readonly type!: unknown;

  @Satisfies(nested(ChatCustom))
  readonly custom!: ChatCustom;
}

/** A tool that the client runs. */
export const tool = unionBy('type', { function: nested(ChatFunctionTool), custom: nested(ChatCustomTool) });

@Closed()
class ChatName {
  @IsString()
  readonly name!: string;
}

@Closed()
class ChatChosenFunction {
  @Allow()
  readonly type!: unknown;

  @Satisfies(nested(ChatName))
  readonly function!: ChatName;
}

@Closed()
class ChatChosenCustom {
  @Allow()
  readonly type!: unknown;

  @Satisfies(nested(ChatName))
  readonly custom!: ChatName;
}

const chosen = { function: nested(ChatChosenFunction), custom: nested(ChatChosenCustom) };

@Closed()
class ChatAllowedTools {
  @IsIn(['auto', 'required'])
  readonly mode!: string;

  @Satisfies(listOf(unionBy('type', chosen)))
  readonly tools!: readonly object[];
}

@Closed()
class ChatAllowedToolsChoice {
  @Allow()
  readonly type!: unknown;

  @Satisfies(nested(ChatAllowedTools))
  readonly allowed_tools!: ChatAllowedTools;
}

/** `tool_choice`: a mode, one tool, or a list of allowed ones. */
export const toolChoice = stringOr({
  kind: 'object',
  check: unionBy('type', { ...chosen, allowed_tools: nested(ChatAllowedToolsChoice) }),
  expected: 'one of a string or object',
});
