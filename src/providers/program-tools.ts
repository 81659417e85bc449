import { addsTools } from '../protocol/index.js';
import { isObject, objectsIn } from '../validation/index.js';
import { hostedTypeOf } from './hosted-type.js';
import type { Turn } from './turn.js';

/** The hosted tool whose programs call other tools. */
export const PROGRAMS = 'programmatic_tool_calling';

/** Characters of a tool in messages: they are the client's text. */
const LONGEST_LABEL = 64;

/** Whether only programs may call a tool, not the model directly (protocol §3.4). */
export function isForPrograms(tool: object): boolean {
  const { allowed_callers: callers } = tool as { readonly allowed_callers?: unknown };
  return Array.isArray(callers) && !callers.includes('direct');
}

/**
 * Why a model that runs no programs must refuse a turn: its choice demands a tool which only they may call. Undefined otherwise.
 * `isMissing`: whether a tool is not offered to the model, by default every hosted one.
 */
export function whyOnlyPrograms(
  { settings, context }: Turn,
  isMissing = (tool: object): boolean => hostedTypeOf(tool) !== undefined,
): string | undefined {
  const { tools: own, tool_choice: choice } = settings;
  if (choice !== 'required' && !isObject(choice)) return undefined;
  const added = context.filter(({ type }) => addsTools(type)).flatMap(({ tools }) => objectsIn(tools));
  const all = [...own, ...added].flatMap((tool) => [tool, ...objectsIn((tool as { readonly tools?: unknown }).tools)]);
  const hidden = new Set(all.filter(isForPrograms).map(labelOf));
  if (hidden.size === 0) return undefined;
  const isOpen = (tool: object): boolean => !isForPrograms(tool) && !isContainer(tool) && !isMissing(tool);
  const open = new Set(all.filter(isOpen).map(labelOf));
  const isAnyDemanded = choice === 'required' && open.size === 0;
  const demanded = isObject(choice) ? chosenBy(choice).map(labelOf) : isAnyDemanded ? [...hidden] : [];
  const [first] = demanded;
  if (first === undefined || demanded.some((label) => open.has(label) || !hidden.has(label))) return undefined;
  const label = first.slice(0, LONGEST_LABEL);
  return `Only programs may call the tool '${label}', and this model runs none. Choose another tool, or 'auto'.`;
}

/** Whether only the tools within can be called. */
function isContainer(tool: object): boolean {
  return (tool as { readonly type?: unknown }).type === 'namespace';
}

function chosenBy(choice: Readonly<Record<string, unknown>>): readonly object[] {
  return choice['type'] === 'allowed_tools' ? objectsIn(choice['tools']) : [choice];
}

function labelOf(tool: object): string {
  const { type, name } = tool as { readonly type?: unknown; readonly name?: unknown };
  return typeof name === 'string' ? `${String(type)} ${name}` : String(type);
}
