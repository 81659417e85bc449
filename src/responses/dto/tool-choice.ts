import { Allow, IsIn, IsOptional, IsString } from 'class-validator';
import {
  Closed,
  described,
  listOf,
  nested,
  Satisfies,
  schemaOf,
  stringOr,
  unionBy,
  unknownValue,
} from '../../validation/index.js';

const MODES = ['none', 'auto', 'required'];

class ChoiceMembers {
  @Allow()
  readonly type!: unknown;
}

/** `{type:"function"|"custom",name}` (protocol §3.4). */
@Closed()
class NamedToolChoice extends ChoiceMembers {
  @IsString()
  readonly name!: string;
}

/** `{type:"mcp"}`, optionally with a server and one of its tools (protocol §3.4). */
@Closed()
class McpToolChoice extends ChoiceMembers {
  @IsOptional()
  @IsString()
  readonly server_label?: string | null;

  @IsOptional()
  @IsString()
  readonly name?: string | null;
}

const named = nested(NamedToolChoice);
const anyToolType = described(() => null, {});

const oneTool = unionBy('type', { function: named, custom: named, mcp: nested(McpToolChoice) }, anyToolType);

/** `{type:"allowed_tools",mode,tools}` (protocol §3.4). */
@Closed()
class AllowedToolsChoice extends ChoiceMembers {
  @IsIn(['auto', 'required'])
  readonly mode!: string;

  @Satisfies(listOf(oneTool, 'an array of tools'))
  readonly tools!: readonly object[];
}

const choiceObject = unionBy('type', { allowed_tools: nested(AllowedToolsChoice) }, oneTool);

const choiceOrMode = stringOr({ kind: 'object', check: choiceObject, expected: 'one of a string or object' });

/** `tool_choice`: a mode, one tool, or a list of allowed ones (protocol §3.4). */
export const toolChoice = described(
  (value, options) =>
    typeof value === 'string' && !MODES.includes(value) ? unknownValue(value, MODES) : choiceOrMode(value, options),
  (definitions) => ({ anyOf: [{ type: 'string', enum: MODES }, schemaOf(choiceObject, definitions)] }),
);
