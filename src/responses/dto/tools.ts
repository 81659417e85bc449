import {
  Allow,
  ArrayNotEmpty,
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
  anyObject,
  type Check,
  Closed,
  every,
  later,
  listOf,
  nested,
  Satisfies,
  stringOr,
  unionBy,
} from '../../validation/index.js';
import { mcpTool, withoutCredentials } from './mcp.js';
import { strictParameters } from './strict-schema.js';
import { plainFormat } from './text-config.js';

const CALLERS = ['direct', 'programmatic'];

/** Members of tools that clients run, after their own (protocol §3.4). */
class CallableToolMembers {
  @Allow()
  readonly type!: string;

  @Allow()
  readonly defer_loading?: unknown;

  @IsOptional()
  @IsBoolean()
  readonly async?: boolean | null;

  @IsOptional()
  @IsArray()
  @IsIn(CALLERS, { each: true })
  readonly allowed_callers?: readonly string[] | null;
}

/** `function`: flat, not nested under a `function` member as in Chat Completions (protocol §3.4). */
@Closed()
class FunctionToolBody extends CallableToolMembers {
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

  @Allow()
  readonly output_schema?: unknown;
}

@Closed()
class GrammarFormat {
  @Allow()
  readonly type!: unknown;

  @IsString()
  readonly definition!: string;

  @IsIn(['lark', 'regex'])
  readonly syntax!: string;
}

const inputFormat = unionBy('type', { text: plainFormat, grammar: nested(GrammarFormat) });

/** `custom`: a tool that takes free text (protocol §3.4). */
@Closed()
class CustomToolBody extends CallableToolMembers {
  @IsString()
  @MinLength(1)
  @MaxLength(128)
  readonly name!: string;

  @IsOptional()
  @IsString()
  readonly description?: string | null;

  @IsOptional()
  @Satisfies(inputFormat)
  readonly format?: object | null;
}

/** `namespace`: tools under a common name (protocol §3.4). */
@Closed()
class NamespaceToolBody {
  @Allow()
  readonly type!: string;

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
@Closed()
class CodeInterpreterToolBody {
  @Allow()
  readonly type!: string;

  @Satisfies(container)
  readonly container!: string | object;

  @Allow()
  readonly allowed_callers?: unknown;
}

/** `file_search` (protocol §3.4). */
@Closed()
class FileSearchToolBody {
  @Allow()
  readonly type!: string;

  @IsArray()
  @ArrayNotEmpty()
  @IsString({ each: true })
  readonly vector_store_ids!: readonly string[];

  @Allow()
  readonly filters?: unknown;

  @Allow()
  readonly max_num_results?: unknown;

  @Allow()
  readonly ranking_options?: unknown;
}

/** `web_search`, and its previews (protocol §3.4). What the members may be is known to whoever searches. */
@Closed()
class WebSearchToolBody {
  @Allow()
  readonly type!: string;

  @Allow()
  readonly external_web_access?: unknown;

  @Allow()
  readonly filters?: unknown;

  @Allow()
  readonly return_token_budget?: unknown;

  @Allow()
  readonly search_content_types?: unknown;

  @Allow()
  readonly search_context_size?: unknown;

  @Allow()
  readonly user_location?: unknown;
}

const WEB_SEARCHES = ['web_search', 'web_search_2025_08_26', 'web_search_preview', 'web_search_preview_2025_03_11'];

/** A tool. Hosted and unknown ones are only echoed and need nothing but a type (docs/decisions/2026-11-21-protocol-choices.md). */
export const tool: Check = unionBy(
  'type',
  {
    function: every([nested(FunctionToolBody), strictParameters]),
    custom: nested(CustomToolBody),
    namespace: nested(NamespaceToolBody),
    mcp: mcpTool,
    code_interpreter: nested(CodeInterpreterToolBody),
    file_search: nested(FileSearchToolBody),
    ...Object.fromEntries(WEB_SEARCHES.map((type) => [type, nested(WebSearchToolBody)])),
  },
  anyObject,
);

/** A tool that an item brings. */
export const toolOfItem: Check = every([tool, withoutCredentials]);

/** A tool that a search has found, as it was found. */
export const foundTool: Check = every([anyObject, withoutCredentials]);
