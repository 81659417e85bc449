import { addsTools, type Item } from '../protocol/index.js';
import { objectsIn } from '../validation/index.js';

/** What a call says of its tool. */
export interface CalledTool {
  readonly type: 'function_call' | 'custom_tool_call';
  readonly name: string;
  readonly namespace?: string | undefined;
}

const TOOL_OF_CALL: Readonly<Record<CalledTool['type'], string>> = {
  function_call: 'function',
  custom_tool_call: 'custom',
};

/**
 * Whether a call runs asynchronously, so that the model may go on before it has an output (protocol §3.4): its tool has
 * `async: true`, among those of the request or, if it is not there, among those that items of the context add.
 */
export function callsAsync(call: CalledTool, tools: readonly object[], context: () => readonly Item[]): boolean {
  const tool = find(call, tools) ?? find(call, context().filter(addsTo).flatMap(toTools));
  return tool?.['async'] === true;
}

function find({ type, name, namespace }: CalledTool, tools: readonly object[]): Record<string, unknown> | undefined {
  const all = objectsIn(tools);
  const space = all.filter((tool) => tool['type'] === 'namespace' && tool['name'] === namespace);
  const among = namespace === undefined ? all : space.flatMap(toTools);
  return objectsIn(among).find((tool) => tool['type'] === TOOL_OF_CALL[type] && tool['name'] === name);
}

function addsTo({ type }: Item): boolean {
  return addsTools(type);
}

function toTools({ tools }: Readonly<Record<string, unknown>>): readonly object[] {
  return objectsIn(tools);
}
