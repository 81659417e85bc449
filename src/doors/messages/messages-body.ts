import {
  Allow,
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  MaxLength,
  Min,
  MinLength,
} from 'class-validator';
import { LONGEST_MODEL } from '../../protocol/index.js';

import {
  Closed,
  described,
  isObject,
  listOf,
  nested,
  OptionalNumber,
  Satisfies,
  schemaOf,
  unionBy,
} from '../../validation/index.js';
import { LONGEST_STOP } from '../stop-scanner.js';
import { isToolset, server, toolset } from './mcp-servers.js';
import { message, texts } from './message-blocks.js';

/** Texts in `stop_sequences`. */
const MOST_STOPS = 16;

const SEARCH_TYPE = /^web_search_\d{8}$/;

@Closed()
class ClientTool {
  @IsOptional()
  @IsObject()
  readonly cache_control?: object | null;

  // Input is always streamed as the model writes it.
  @IsOptional()
  @IsBoolean()
  readonly eager_input_streaming?: boolean | null;

  // Without effect (tools.ts).
  @IsOptional()
  @IsArray()
  readonly allowed_callers?: readonly unknown[] | null;

  @IsOptional()
  @IsBoolean()
  readonly defer_loading?: boolean | null;

  @IsOptional()
  @IsArray()
  readonly input_examples?: readonly unknown[] | null;

  // Tools of Anthropic have a dated type, and no schema: only its own models know them.
  @IsOptional()
  @IsIn(['custom'])
  readonly type?: 'custom' | null;

  @IsString()
  @MinLength(1)
  readonly name!: string;

  @IsOptional()
  @IsString()
  readonly description?: string | null;

  @IsObject()
  readonly input_schema!: object;

  @IsOptional()
  @IsBoolean()
  readonly strict?: boolean | null;
}

/** The tool of Anthropic that the service has, too (docs/web-search.md): it checks the rest. */
@Closed()
class WebSearchTool {
  @Allow()
  readonly name?: unknown;

  @IsOptional()
  @IsObject()
  readonly cache_control?: object | null;

  @Allow()
  readonly allowed_domains?: unknown;

  @Allow()
  readonly blocked_domains?: unknown;

  @Allow()
  readonly user_location?: unknown;

  @Matches(SEARCH_TYPE)
  readonly type!: string;

  @IsOptional()
  @IsInt()
  @Min(1)
  readonly max_uses?: number | null;
}

const clientTool = nested(ClientTool);
const searchTool = nested(WebSearchTool);

/** A tool of the client, a search of the web, or a choice among the tools of a server. */
const tool = described(
  (value, options) => {
    if (isToolset(value)) return toolset(value, options);
    return (isSearchTool(value) ? searchTool : clientTool)(value, options);
  },
  (definitions) => ({ anyOf: [clientTool, searchTool, toolset].map((each) => schemaOf(each, definitions)) }),
);

/** Whether a tool is a search of the web, of whatever date. */
export function isSearchTool(value: unknown): boolean {
  return isObject(value) && typeof value.type === 'string' && SEARCH_TYPE.test(value.type);
}

@Closed()
class ToolMode {
  @Allow()
  readonly type!: unknown;

  @IsOptional()
  @IsBoolean()
  readonly disable_parallel_tool_use?: boolean | null;
}

@Closed()
class NamedTool extends ToolMode {
  @IsString()
  readonly name!: string;
}

const mode = nested(ToolMode);

@Closed()
class EnabledThinking {
  @Allow()
  readonly type!: unknown;

  @IsInt()
  @Min(1024)
  readonly budget_tokens!: number;

  @IsOptional()
  @IsIn(['summarized', 'omitted'])
  readonly display?: string | null;
}

@Closed()
class AdaptiveThinking {
  @Allow()
  readonly type!: unknown;

  @IsOptional()
  @IsIn(['summarized', 'omitted'])
  readonly display?: string | null;
}

@Closed()
class DisabledThinking {
  @Allow()
  readonly type!: unknown;

  @Allow()
  readonly display?: unknown;
}

@Closed()
class OutputFormat {
  @IsIn(['json_schema'])
  readonly type!: string;

  @IsObject()
  readonly schema!: object;
}

@Closed()
class OutputSettings {
  @IsOptional()
  @IsIn(['low', 'medium', 'high', 'xhigh', 'max'])
  readonly effort?: string | null;

  @IsOptional()
  @Satisfies(nested(OutputFormat))
  readonly format?: object | null;

  // Models are not told of it.
  @IsOptional()
  @IsObject()
  readonly task_budget?: object | null;
}

@Closed()
class AnthropicMetadata {
  @IsOptional()
  @IsString()
  readonly user_id?: string | null;
}

/** The body of `POST /messages/count_tokens`. */
export class CountTokensBody {
  @IsString()
  @MaxLength(LONGEST_MODEL)
  readonly model!: string;

  @IsArray()
  @ArrayNotEmpty()
  @Satisfies(listOf(message, 'an array of messages'))
  readonly messages!: readonly object[];

  @IsOptional()
  @Satisfies(texts)
  readonly system?: string | readonly object[] | null;

  @IsOptional()
  @Satisfies(listOf(tool, 'an array of tools'))
  readonly tools?: readonly object[] | null;

  @IsOptional()
  @Satisfies(listOf(server, 'an array of servers'))
  readonly mcp_servers?: readonly object[] | null;

  @IsOptional()
  @Satisfies(
    unionBy('type', {
      auto: mode,
      any: mode,
      tool: nested(NamedTool),
      none: mode,
    }),
  )
  readonly tool_choice?: object | null;

  @IsOptional()
  @Satisfies(
    unionBy('type', {
      enabled: nested(EnabledThinking),
      adaptive: nested(AdaptiveThinking),
      between_tools: nested(AdaptiveThinking),
      disabled: nested(DisabledThinking),
    }),
  )
  readonly thinking?: object | null;

  @IsOptional()
  @Satisfies(nested(OutputSettings))
  readonly output_config?: object | null;

  // As clients named `output_config.format` before.
  @IsOptional()
  @Satisfies(nested(OutputFormat))
  readonly output_format?: object | null;
}

/** The body of `POST /messages`. */
export class MessagesBody extends CountTokensBody {
  @IsInt()
  @Min(1)
  readonly max_tokens!: number;

  @IsOptional()
  @IsArray()
  @IsString({ each: true })
  @MinLength(1, { each: true })
  @MaxLength(LONGEST_STOP, { each: true })
  @ArrayMaxSize(MOST_STOPS)
  readonly stop_sequences?: readonly string[] | null;

  @IsOptional()
  @IsBoolean()
  readonly stream?: boolean | null;

  @OptionalNumber(0, 1)
  readonly temperature?: number | null;

  @OptionalNumber(0, 1)
  readonly top_p?: number | null;

  @IsOptional()
  @Satisfies(nested(AnthropicMetadata))
  readonly metadata?: object | null;

  @IsOptional()
  @IsIn(['auto', 'standard_only'])
  readonly service_tier?: string | null;
}
