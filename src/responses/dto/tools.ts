import { IsArray, IsBoolean, IsObject, IsOptional, IsString, Matches, MaxLength, MinLength } from 'class-validator';
import {
  described,
  every,
  isObject,
  later,
  listOf,
  nested,
  Satisfies,
  unionBy,
  wrongType,
  type Check,
} from '../../validation/index.js';
import { strictParameters } from './strict-schema.js';

/** `function`: flat, not nested under a `function` member as in Chat Completions (protocol §3.4). */
export class FunctionToolBody {
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

  @IsOptional()
  @IsBoolean()
  readonly async?: boolean | null;
}

/** `custom`: a tool that takes free text (protocol §3.4). */
export class CustomToolBody {
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

  @IsOptional()
  @IsBoolean()
  readonly async?: boolean | null;
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

/** `mcp` (protocol §3.4). */
export class McpToolBody {
  @IsString()
  @MinLength(1)
  readonly server_label!: string;
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
    ['file_search', nested(FileSearchToolBody)],
  ]),
  anyTool,
);
