import { isOutput, isToolCall, type Item, type ToolChoice } from '../../protocol/index.js';
import { isForPrograms, ModelError, type Turn, whyOnlyPrograms } from '../../providers/index.js';
import { countRuns, isUserMessage } from '../../providers/transcripts/index.js';
import { listIn } from '../../validation/index.js';
import type { SeededRandom } from '../seeded-random.js';
import { readText } from './read-items.js';

/** Limit of consecutive calls with `tool_choice: "required"`; then the answer is text, so that agent loops end. */
const MOST_CALLS_IN_A_ROW = 25;

/** Limit of calls in one response for tools that the user named. */
const MOST_NAMED_CALLS = 8;

const MOST_TEXT_SEARCHED = 64 * 1024;

/** How many tool calls the model makes. */
export interface Eagerness {
  /** Rounds of calls after a user message, with `tool_choice: "auto"`, before the answer is text. */
  readonly rounds: number;
  /** Parallel calls in one response; null: one, or one for each tool that the user named. */
  readonly calls: number | null;
}

/** The tools that `tool_choice` allows, and whether a call is required. */
interface ToolPolicy {
  readonly mode: 'none' | 'auto' | 'required';
  readonly tools: readonly CallableTool[];
}

/**
 * The tools to call in this turn, in order; empty if the answer is text. Throws ModelError 400 for an unknown
 * tool choice, and for one that demands what only programs may call.
 */
export function chooseTools(turn: Turn, { rounds, calls }: Eagerness, random: SeededRandom): readonly CallableTool[] {
  const refusal = whyOnlyPrograms(turn);
  if (refusal !== undefined) {
    throw new ModelError('unsupported_value', refusal, { status: 400, param: 'tool_choice' });
  }
  const { mode, tools } = applyToolChoice(turn.settings.tool_choice, listCallableTools(turn));
  if (mode === 'none' || tools.length === 0) return [];

  const lastUserIndex = turn.context.findLastIndex(isUserMessage);
  const since = turn.context.slice(lastUserIndex + 1);
  if (mode === 'required' && since.filter(isToolCall).length >= MOST_CALLS_IN_A_ROW) return [];
  // With `auto`, calls follow a user message and text follows their outputs, so that agent loops end.
  if (mode === 'auto' && (lastUserIndex === -1 || !isWaitingForCalls(since, rounds))) return [];

  const question = turn.context[lastUserIndex];
  const named = findNamedTools(tools, question === undefined ? '' : readText(question));
  // `max_tool_calls` does not count: it bounds the tools that a server runs.
  const { parallel_tool_calls: isParallel } = turn.settings;
  const count = isParallel ? (calls ?? Math.min(Math.max(1, named.length), MOST_NAMED_CALLS)) : 1;
  return Array.from({ length: count }, (_, index) => named[index] ?? random.pick(tools));
}

/** Whether the items after the user message are only calls and outputs, in fewer than `rounds` rounds. */
function isWaitingForCalls(since: readonly Item[], rounds: number): boolean {
  return !since.some(isAnswer) && countRuns(since, isOutput) < rounds;
}

function applyToolChoice(choice: ToolChoice, tools: readonly CallableTool[]): ToolPolicy {
  if (typeof choice === 'string') return { mode: choice, tools };
  switch (choice.type) {
    case 'function':
    case 'custom':
      return { mode: 'required', tools: requireTool(choice, tools) };
    case 'allowed_tools':
      return { mode: choice.mode, tools: allowedOf(choice.tools, tools) };
    default:
      // The simulator does not run hosted tools.
      return { mode: 'none', tools };
  }
}

function requireTool(
  choice: { readonly type: string; readonly name: string },
  tools: readonly CallableTool[],
): readonly CallableTool[] {
  const chosen = tools.filter(({ type, name }) => type === choice.type && name === choice.name);
  if (chosen.length > 0) return chosen;
  throw new ModelError('invalid_value', `Tool choice '${choice.name}' not found in 'tools' parameter.`, {
    status: 400,
    param: 'tool_choice',
  });
}

function allowedOf(
  entries: readonly Readonly<Record<string, unknown>>[],
  tools: readonly CallableTool[],
): readonly CallableTool[] {
  const namespaces = new Set(entries.filter(({ type }) => type === 'namespace').map(({ name }) => name));
  const names = new Set(entries.map(({ type, name }) => `${String(type)} ${String(name)}`));
  return tools.filter(({ namespace, type, name }) => namespaces.has(namespace) || names.has(`${type} ${name}`));
}

/** The tools whose names occur in the text, in the order of the tools. */
function findNamedTools(tools: readonly CallableTool[], text: string): readonly CallableTool[] {
  const words = new Set(text.slice(0, MOST_TEXT_SEARCHED).split(/[^\w-]+/));
  return tools.filter(({ name }) => words.has(name));
}

function isAnswer(item: Item): boolean {
  return item.type === 'message' && item.role === 'assistant';
}

/** A function or custom tool that the client runs. */
export interface CallableTool {
  readonly type: 'function' | 'custom';
  readonly name: string;
  readonly namespace?: string;
  /** JSON Schema of a function's arguments, as the client sent it. */
  readonly parameters?: unknown;
  /** `format` of a custom tool, as the client sent it. */
  readonly format?: unknown;
}

/** The function and custom tools of a turn, including those in namespaces and in `additional_tools` items. */
export function listCallableTools(turn: Turn): readonly CallableTool[] {
  const added = turn.context.filter(({ type }) => type === 'additional_tools').flatMap(({ tools }) => listIn(tools));
  return [...turn.settings.tools, ...added].flatMap((tool) => toCallable(tool));
}

function toCallable(tool: unknown, namespace?: string): readonly CallableTool[] {
  if (typeof tool !== 'object' || tool === null || isForPrograms(tool)) return [];
  const { type, name, parameters, format, tools } = tool as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || name === '') return [];
  const place = namespace === undefined ? {} : { namespace };
  switch (type) {
    case 'function':
      return [{ type, name, ...place, parameters }];
    case 'custom':
      return [{ type, name, ...place, format }];
    case 'namespace':
      return namespace === undefined ? listIn(tools).flatMap((inner) => toCallable(inner, name)) : [];
    default:
      return [];
  }
}
