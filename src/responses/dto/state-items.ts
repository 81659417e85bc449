import { IsArray, IsIn, IsOptional, IsString, MaxLength, MinLength } from 'class-validator';
import { MAX_SEAL_CHARACTERS } from '../../protocol/index.js';
import { Closed, listOf, nested, Satisfies } from '../../validation/index.js';
import { AnyItem, ITEM_STATUSES } from './any-item.js';
import { updatedFormat } from './text-config.js';
import { foundTool, toolOfItem } from './tools.js';
import { EFFORTS } from './tuning.js';

/** `summary_text`, a part of a reasoning summary (protocol §3.2). */
class SummaryText {
  @IsString()
  readonly text!: string;
}

/** `reasoning` (protocol §3.1). Codex replays it with `content: null`, others without an id. */
export class Reasoning extends AnyItem {
  @Satisfies(listOf(nested(SummaryText)))
  readonly summary!: readonly SummaryText[];

  @IsOptional()
  @IsArray()
  readonly content?: readonly unknown[] | null;

  @IsOptional()
  @IsString()
  readonly encrypted_content?: string | null;

  @IsOptional()
  @IsIn(ITEM_STATUSES)
  readonly status?: string | null;
}

/** `compaction`, and its Codex name `compaction_summary` (protocol §3.1). */
export class Compaction extends AnyItem {
  @IsString()
  @MaxLength(MAX_SEAL_CHARACTERS)
  readonly encrypted_content!: string;
}

/** `additional_tools`: tools that take effect in the middle of a transcript (protocol §3.1). */
export class AdditionalTools extends AnyItem {
  @Satisfies(listOf(toolOfItem, 'an array of tools'))
  readonly tools!: readonly object[];
}

/** `tool_search_output` (protocol §3.1). */
export class ToolSearchOutput extends AnyItem {
  @IsOptional()
  @Satisfies(listOf(foundTool, 'an array of tools'))
  readonly tools?: readonly object[] | null;
}

/** The reasoning that a `configuration_update` changes: nothing but the effort. */
@Closed()
class UpdatedReasoning {
  @IsOptional()
  @IsIn(EFFORTS)
  readonly effort?: string | null;
}

/** The text that a `configuration_update` changes: nothing but the format. */
@Closed()
class UpdatedText {
  @Satisfies(updatedFormat)
  readonly format!: object;
}

/** `configuration_update`: settings that change in the middle of a transcript (protocol §3.1). */
export class ConfigurationUpdate extends AnyItem {
  @IsOptional()
  @Satisfies(nested(UpdatedReasoning))
  readonly reasoning?: UpdatedReasoning | null;

  @IsOptional()
  @Satisfies(nested(UpdatedText))
  readonly text?: UpdatedText | null;
}

/** `item_reference` (protocol §3.1). */
export class ItemReference {
  @IsString()
  @MinLength(1)
  @MaxLength(256)
  readonly id!: string;
}
