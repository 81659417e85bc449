import {
  IsArray,
  IsBoolean,
  IsIn,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  MaxLength,
  MinLength,
} from 'class-validator';
import {
  described,
  every,
  isObject,
  later,
  listOf,
  nested,
  Satisfies,
  stringOr,
  unionBy,
  wrongType,
  type Check,
} from '../../validation/index.js';
import { McpToolBody } from './mcp.js';
import { strictParameters } from './strict-schema.js';

const CALLERS = ['direct', 'programmatic'];

/** Members of tools that clients run, after their own (protocol §3.4). */
class CallableToolMembers {
  @IsOptional()
  @IsBoolean()
  readonly async?: boolean | null;

  @IsOptional()
  @IsArray()
  @IsIn(CALLERS, { each: true })
  readonly allowed_callers?: readonly string[] | null;
}

/** `function`: flat, not nested under a `function` member as in Chat Completions (protocol §3.4). */
export class FunctionToolBody extends CallableToolMembers {
  @IsString()
  @MinLength(1)
  @MaxLength(128)
  @Matches(/^[a-zA-Z0-9_-]+$/)
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

/** `custom`: a tool that takes free text (protocol §3.4). */
export class CustomToolBody extends CallableToolMembers {
  @IsString()
  @MinLength(1)
  @MaxLength(128)
  readonly name!: string;

  @IsOptional()
  @IsString()
  readonly description?: string | null;

  @IsOptional()
  @IsObject()
  readonly format?: object | null;
}

/** `namespace`: tools under a common name (protocol §3.4). */
export class NamespaceToolBody {
  @IsString()
  @MinLength(1)
  readonly name!: string;

  @IsOptional()
  @IsString()
  readonly description?: string | null;

  // `tool` is defined below with this class.
  @Satisfies(
    listOf(
      later(() => tool),
      'an array of tools',
    ),
  )
  readonly tools!: readonly object[];
}

/** The container of a `code_interpreter` that the service of the model makes. */
class AutoContainer {
  @IsIn(['auto'])
  readonly type!: string;
}

const container = stringOr({
  kind: 'object',
  check: nested(AutoContainer),
  expected: 'one of a string or object',
});

/** `code_interpreter` (protocol §3.4). */
export class CodeInterpreterToolBody {
  @Satisfies(container)
  readonly container!: string | object;
}

/** `file_search` (protocol §3.4). */
export class FileSearchToolBody {
  @IsArray()
  @IsString({ each: true })
  readonly vector_store_ids!: readonly string[];
}

const anyTool = described((value) => (isObject(value) ? null : wrongType('an object', value)), { type: 'object' });

/** A tool. Hosted and unknown ones are only echoed and need nothing but a type (docs/decisions/2026-11-21-protocol-choices.md). */
export const tool: Check = unionBy(
  'type',
  new Map([
    ['function', every([nested(FunctionToolBody), strictParameters])],
    ['custom', nested(CustomToolBody)],
    ['namespace', nested(NamespaceToolBody)],
    ['mcp', nested(McpToolBody)],
    ['code_interpreter', nested(CodeInterpreterToolBody)],
    ['file_search', nested(FileSearchToolBody)],
  ]),
  anyTool,
);
