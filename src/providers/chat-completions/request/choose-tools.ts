import type { Turn } from '../../turn.js';
import { isObject } from '../../../validation/index.js';
import type { Capabilities } from '../capabilities.js';
import { addressOf, type CarriedTool, type ToolTable } from '../tools/tool-table.js';
import { NAMELESS_KINDS } from '../tools/tool-address.js';
import { refuse } from './refuse.js';

type Members = Readonly<Record<string, unknown>>;

/** The tool members of a chat request. */
export interface ToolFields {
  readonly tools?: readonly object[];
  readonly tool_choice?: unknown;
  readonly parallel_tool_calls?: boolean;
}

/** The tools to send and their `tool_choice`. */
interface Choice {
  readonly offered: readonly CarriedTool[];
  readonly toolChoice: unknown;
}

/** Translates tools and `tool_choice`. Throws ModelError 400 for a choice that the upstream does not support. */
export function chooseTools({ settings, parameters }: Turn, table: ToolTable, capabilities: Capabilities): ToolFields {
  if (table.tools.length > 0 && !capabilities.tools) refuse('tools', 'This model does not support tools.');
  const { offered, toolChoice } = toChoice(settings.tool_choice, table, capabilities);
  if (offered.length === 0) return {};
  const { parallel_tool_calls: isParallel } = parameters;
  return {
    tools: offered.map((tool) => toFunctionTool(tool, capabilities)),
    ...(toolChoice === 'auto' && parameters.tool_choice == null ? {} : { tool_choice: toolChoice }),
    ...(isParallel == null ? {} : { parallel_tool_calls: isParallel }),
  };
}

function toChoice(choice: unknown, table: ToolTable, capabilities: Capabilities): Choice {
  const { tools } = table;
  if (isObject(choice)) {
    if (choice.type === 'allowed_tools') return allow(choice, table, capabilities);
    const chosen = findChosen(choice, indexOf(table));
    return capabilities.namedToolChoice
      ? { offered: tools, toolChoice: toNamed(chosen) }
      : { offered: [chosen], toolChoice: 'required' };
  }
  // A required call would be impossible.
  if (tools.length === 0 && choice === 'required') {
    refuse('tool_choice', 'None of the tools can be called by this model.');
  }
  return { offered: tools, toolChoice: choice };
}

function allow(choice: Members, table: ToolTable, capabilities: Capabilities): Choice {
  const mode = choice.mode as 'auto' | 'required';
  const listed = (choice.tools as readonly Members[]).filter((tool) => addressOf(tool) !== undefined);
  const index = indexOf(table);
  const allowed = listed.map((tool) => findChosen(tool, index));
  if (allowed.length === 0 && mode === 'required') {
    refuse('tool_choice', 'None of the allowed tools can be called by this model.');
  }
  if (allowed.length === 0 || !capabilities.allowedTools) return { offered: allowed, toolChoice: mode };
  const toolChoice = { type: 'allowed_tools', allowed_tools: { mode, tools: allowed.map(toNamed) } };
  return { offered: table.tools, toolChoice };
}

/** The tools by what a choice says of them, because a choice may name many. */
type ToolIndex = ReadonlyMap<string, readonly CarriedTool[]>;

function indexOf({ tools }: ToolTable): ToolIndex {
  return Map.groupBy(tools, ({ address: { kind, name } }) => keyOf(kind, name));
}

function keyOf(kind: unknown, name: unknown): string {
  return NAMELESS_KINDS.has(kind) ? String(kind) : `${String(kind)} ${String(name)}`;
}

/** The tool that a choice names; the namespace is optional. */
function findChosen(choice: Members, index: ToolIndex): CarriedTool {
  const kind = NAMELESS_KINDS.has(choice.type) ? choice.type : (addressOf(choice)?.kind ?? null);
  const found = index
    .get(keyOf(kind, choice.name))
    ?.find(({ address }) => choice.namespace == null || address.namespace === choice.namespace);
  return found ?? refuse('tool_choice', `This model cannot call the tool of type '${String(choice.type)}'.`);
}

function toFunctionTool({ upstreamName, definition }: CarriedTool, { strictTools }: Capabilities): object {
  const { strict, ...rest } = definition;
  return {
    type: 'function',
    function: { name: upstreamName, ...rest, ...(strict === true && strictTools ? { strict } : {}) },
  };
}

function toNamed({ upstreamName }: CarriedTool): object {
  return { type: 'function', function: { name: upstreamName } };
}
