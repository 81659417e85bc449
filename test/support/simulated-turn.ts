import type { Item, ResponseSettings } from '../../src/protocol/index.js';
import type { ModelEvent, Turn } from '../../src/providers/index.js';
import { SimulatorOptions, SimulatorProvider } from '../../src/simulator/index.js';
import { SystemClock } from '../../src/time/index.js';

/** A turn as the simulator gets one, of a model that does not reason and no tools, but for the settings given. */
export function simulatedTurn(over: object, context: readonly Item[]): Turn {
  const settings = { model: 'gpt-4.1', instructions: null, tools: [], tool_choice: 'auto', text: {}, ...over };
  return {
    responseId: 'resp_1',
    tenant: 'default',
    sessionId: 'resp_1',
    input: context.slice(-1),
    context,
    settings: settings as unknown as ResponseSettings,
    include: [],
    headers: {},
    parameters: { model: settings.model },
    parent: null,
  };
}

/** The arguments the simulator calls a tool of this schema with. */
export async function callTool(parameters: unknown, seed: number): Promise<unknown> {
  const tools = [{ type: 'function', name: 'act', parameters, strict: true }];
  return JSON.parse(await run({ tools, tool_choice: 'required' }, seed, 'function_call_arguments'));
}

/** What the simulator answers when this schema is asked for. */
export async function answer(schema: unknown, seed: number): Promise<unknown> {
  return JSON.parse(await run({ text: { format: { type: 'json_schema', name: 'answer', schema } } }, seed, 'text'));
}

async function run(over: object, seed: number, type: ModelEvent['type']): Promise<string> {
  const provider = new SimulatorProvider(new SimulatorOptions({ seed }), new SystemClock());
  const turn = simulatedTurn(over, [{ type: 'message', id: 'msg_1', role: 'user', content: 'Go on.' }]);
  let text = '';
  for await (const batch of provider.generate(turn, { signal: new AbortController().signal })) {
    for (const event of batch) if (event.type === type && 'delta' in event) text += event.delta;
  }
  return text;
}
