import { IsBoolean, IsIn, IsObject, IsOptional, IsString } from 'class-validator';

import { described, listOf, nested, Satisfies, stringOr, unionBy } from '../../validation/index.js';

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

class ChatFunctionTool {
  @Satisfies(nested(ChatFunction))
  readonly function!: ChatFunction;
}

class ChatGrammar {
  @IsString()
  readonly definition!: string;

  @IsIn(['lark', 'regex'])
  readonly syntax!: string;
}

class ChatGrammarFormat {
  @Satisfies(nested(ChatGrammar))
  readonly grammar!: ChatGrammar;
}

class ChatCustom {
  @IsString()
  readonly name!: string;

  @IsOptional()
  @IsString()
  readonly description?: string | null;

  @IsOptional()
  @Satisfies(
    unionBy(
      'type',
      new Map([
        ['text', described(() => null, {})],
        ['grammar', nested(ChatGrammarFormat)],
      ]),
    ),
  )
  readonly format?: object | null;
}

class ChatCustomTool {
  @Satisfies(nested(ChatCustom))
  readonly custom!: ChatCustom;
}

/** A tool that the client runs. */
export const tool = unionBy(
  'type',
  new Map([
    ['function', nested(ChatFunctionTool)],
    ['custom', nested(ChatCustomTool)],
  ]),
);

class ChatName {
  @IsString()
  readonly name!: string;
}

class ChatChosenFunction {
  @Satisfies(nested(ChatName))
  readonly function!: ChatName;
}

class ChatChosenCustom {
  @Satisfies(nested(ChatName))
  readonly custom!: ChatName;
}

const chosen = [
  ['function', nested(ChatChosenFunction)],
  ['custom', nested(ChatChosenCustom)],
] as const;

class ChatAllowedTools {
  @IsIn(['auto', 'required'])
  readonly mode!: string;

  @Satisfies(listOf(unionBy('type', new Map(chosen))))
  readonly tools!: readonly object[];
}

class ChatAllowedToolsChoice {
  @Satisfies(nested(ChatAllowedTools))
  readonly allowed_tools!: ChatAllowedTools;
}

/** `tool_choice`: a mode, one tool, or a list of allowed ones. */
export const toolChoice = stringOr({
  kind: 'object',
  check: unionBy('type', new Map([...chosen, ['allowed_tools', nested(ChatAllowedToolsChoice)]])),
  expected: 'one of a string or object',
});
