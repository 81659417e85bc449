import type { Item, ToolChoice } from '../../protocol/index.js';
import { ModelError, type Turn } from '../../providers/index.js';
import { countRuns, isUserMessage } from '../../providers/transcripts/index.js';
import type { SeededRandom } from '../seeded-random.js';
import { type CallableTool, listCallableTools } from './callable-tools.js';
import { isToolOutput, readText } from './read-items.js';

/** An agent that insists on calls and never stops would run for ever: after so many in a row the answer is text. */
const MOST_CALLS_IN_A_ROW = 25;

/** A text that happens to hold the names of all tools wants them all as little as one that lists them. */
const MOST_NAMED_CALLS = 8;

const MOST_TEXT_SEARCHED = 64 * 1024;

/** How eager the model is to call tools. */
export interface Eagerness {
  /** Rounds of calls that follow a question, with `tool_choice: "auto"`, before the answer is text. */
  readonly rounds: number;
  /** Calls in one response, where they may be parallel; null: one, or one of each tool that the user named. */
  readonly calls: number | null;
}

/** The tools a choice leaves, and whether one of them has to be called. */
interface ToolPolicy {
  readonly mode: 'none' | 'auto' | 'required';
  readonly tools: readonly CallableTool[];
}

/** The tools to call in this turn, in order; none where the answer is text. */
export function chooseTools(turn: Turn, { rounds, calls }: Eagerness, random: SeededRandom): readonly CallableTool[] {
  const { mode, tools } = applyToolChoice(turn.settings.tool_choice, listCallableTools(turn));
  if (mode === 'none' || tools.length === 0) return [];

  const lastUserIndex = turn.context.findLastIndex(isUserMessage);
  const since = turn.context.slice(lastUserIndex + 1);
  if (mode === 'required' && since.filter(isCall).length >= MOST_CALLS_IN_A_ROW) return [];
  // With `auto` a question is worth a call, and what came of the call an answer; else an agent's loop never ends.
  if (mode === 'auto' && (lastUserIndex === -1 || !isWaitingForCalls(since, rounds))) return [];

  const question = turn.context[lastUserIndex];
  const named = findNamedTools(tools, question === undefined ? '' : readText(question));
  const { parallel_tool_calls: isParallel, max_tool_calls: most } = turn.settings;
  const wished = isParallel ? (calls ?? Math.min(Math.max(1, named.length), MOST_NAMED_CALLS)) : 1;
  const count = Math.min(wished, most ?? Infinity);
  return Array.from({ length: count }, (_, index) => named[index] ?? random.pick(tools));
}

/** Whether after a question there were only calls, and fewer rounds of them than there are to be. */
function isWaitingForCalls(since: readonly Item[], rounds: number): boolean {
  return !since.some(isAnswer) && countRuns(since, isToolOutput) < rounds;
}

function applyToolChoice(choice: ToolChoice, tools: readonly CallableTool[]): ToolPolicy {
  if (typeof choice === 'string') return { mode: choice, tools };
  switch (choice.type) {
    case 'function':
    case 'custom':
      return { mode: 'required', tools: requireTool(choice, tools) };
    case 'allowed_tools':
      return { mode: choice.mode, tools: tools.filter((tool) => choice.tools.some((entry) => allows(entry, tool))) };
    default:
      // Hosted tools are not ours to run.
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

function allows(entry: Readonly<Record<string, unknown>>, tool: CallableTool): boolean {
  if (entry.type === 'namespace') return entry.name === tool.namespace;
  return entry.type === tool.type && entry.name === tool.name;
}

/** The tools whose names the user wrote, in the order of the tools. */
function findNamedTools(tools: readonly CallableTool[], text: string): readonly CallableTool[] {
  const words = new Set(text.slice(0, MOST_TEXT_SEARCHED).split(/[^\w-]+/));
  return tools.filter(({ name }) => words.has(name));
}

function isCall(item: Item): boolean {
  return item.type === 'function_call' || item.type === 'custom_tool_call';
}

function isAnswer(item: Item): boolean {
  return item.type === 'message' && item.role === 'assistant';
}
