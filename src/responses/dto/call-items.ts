import { IsBoolean, IsIn, IsOptional, IsString, MaxLength, MinLength } from 'class-validator';
import { listOf, Satisfies, stringOr } from '../../validation/index.js';
import { AnyItem, ITEM_STATUSES } from './any-item.js';
import { toolOutputPart } from './content-parts.js';

const toolOutput = stringOr({
  kind: 'array',
  check: listOf(toolOutputPart),
  expected: 'one of an array of objects or string',
  maxLength: 10_485_760,
});

/** Members of both kinds of call (protocol §3.1). */
class CallMembers extends AnyItem {
  @IsString()
  @MinLength(1)
  @MaxLength(64)
  readonly call_id!: string;

  @IsString()
  @MinLength(1)
  readonly name!: string;

  @IsOptional()
  @IsString()
  readonly namespace?: string | null;

  @IsOptional()
  @IsBoolean()
  readonly async?: boolean | null;

  @IsOptional()
  @IsIn(ITEM_STATUSES)
  readonly status?: string | null;
}

/** `function_call` (protocol §3.1). */
export class FunctionCall extends CallMembers {
  @IsString()
  readonly arguments!: string;
}

/** `custom_tool_call` (protocol §3.1). */
export class CustomToolCall extends CallMembers {
  @IsString()
  readonly input!: string;
}

/** `function_call_output` (protocol §3.1). Codex sends some without `call_id`; these have no matching call. */
export class FunctionCallOutput extends AnyItem {
  @IsOptional()
  @IsString()
  @MinLength(1)
  @MaxLength(64)
  readonly call_id?: string | null;

  @Satisfies(toolOutput)
  readonly output!: string | readonly object[];

  @IsOptional()
  @IsIn(ITEM_STATUSES)
  readonly status?: string | null;
}

/** `custom_tool_call_output` (protocol §3.1). */
export class CustomToolCallOutput extends AnyItem {
  @IsString()
  @MinLength(1)
  @MaxLength(64)
  readonly call_id!: string;

  @Satisfies(toolOutput)
  readonly output!: string | readonly object[];
}
