import type { Item, ResponseSettings } from '../../src/protocol/index.js';
import type { Turn } from '../../src/providers/index.js';

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
