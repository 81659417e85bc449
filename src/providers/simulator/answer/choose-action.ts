import type { Item, ToolChoice } from '../../../protocol/index.js';
import { ModelError } from '../../model-error.js';
import type { Turn } from '../../turn.js';
import type { CallableTool } from './callable-tools.js';
import { listCallableTools } from './callable-tools.js';
import { readText } from './read-text.js';
import type { SeededRandom } from '../seeded-random.js';

/** An agent that insists on calls and never stops would run for ever: after so many in a row the answer is text. */
const MOST_CALLS_IN_A_ROW = 25;

const MOST_TEXT_SEARCHED = 64 * 1024;

/** The tools a choice leaves, and whether one of them has to be called. */
interface ToolPolicy {
  readonly mode: 'none' | 'auto' | 'required';
  readonly tools: readonly CallableTool[];
}

/** The tool to call in this turn; undefined where the answer is text. */
export function chooseTool(turn: Turn, random: SeededRandom): CallableTool | undefined {
  const { mode, tools } = applyToolChoice(turn.settings.tool_choice, listCallableTools(turn));
  if (mode === 'none' || tools.length === 0) return undefined;

  const lastUserIndex = turn.context.findLastIndex(isUserMessage);
  const since = turn.context.slice(lastUserIndex + 1);
  if (since.filter(isCall).length >= MOST_CALLS_IN_A_ROW) return undefined;
  // With `auto` a question is worth a call, and what came of the call an answer; else an agent's loop never ends.
  if (mode === 'auto' && (lastUserIndex === -1 || !since.every(isInstruction))) return undefined;

  const question = turn.context[lastUserIndex];
  return findNamedTool(tools, question === undefined ? '' : readText(question)) ?? random.pick(tools);
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

/** The tool whose name the user wrote. */
function findNamedTool(tools: readonly CallableTool[], text: string): CallableTool | undefined {
  const words = new Set(text.slice(0, MOST_TEXT_SEARCHED).split(/[^\w-]+/));
  return tools.find(({ name }) => words.has(name));
}

function isUserMessage(item: Item): boolean {
  return item.type === 'message' && item.role === 'user';
}

function isCall(item: Item): boolean {
  return item.type === 'function_call' || item.type === 'custom_tool_call';
}

function isInstruction(item: Item): boolean {
  if (item.type === 'additional_tools') return true;
  return item.type === 'message' && (item.role === 'developer' || item.role === 'system');
}
