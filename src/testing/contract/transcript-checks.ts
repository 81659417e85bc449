import { isToolCall, type Item, type ResponseObject } from '../../protocol/index.js';
import { isObject, requireRule } from '../events/rule.js';
import type { Check } from './check.js';
import type { ContractService } from './contract-service.js';
import type { WatchedTurn } from './provider-tap.js';

const TOOL = {
  type: 'function',
  name: 'get_weather',
  description: 'Tells the weather in a city.',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};
const INTRODUCTION = 'My name is Ada.';
const QUESTION = 'What is my name?';

/** Turns that continue others, with and without calls. */
export const TRANSCRIPT_CHECKS: readonly Check[] = [
  {
    name: 'reads the earlier turns',
    run: async (service) => {
      const { id } = await service.askWell(INTRODUCTION);
      const watched = service.tap.next();
      await service.askWell(QUESTION, { body: { previous_response_id: id } });
      requireLookedBack(watched);
    },
  },
  {
    name: 'reads a transcript that its client resends',
    run: async (service) => {
      const { output } = await service.askWell(INTRODUCTION, { body: { store: false } });
      const watched = service.tap.next();
      const history = [toMessage(INTRODUCTION), ...output, toMessage(QUESTION)];
      await service.askWell(history, { body: { store: false } });
      requireLookedBack(watched);
    },
  },
  {
    name: 'calls tools in the form of the protocol, or answers',
    run: async (service) => {
      const { output } = await askWithTool(service);
      for (const call of callsOf(output)) requireCall(call);
    },
  },
  {
    name: 'continues with the outputs of its calls',
    run: async (service) => {
      const { id, output } = await askWithTool(service);
      const outputs = callsOf(output).map(({ call_id }) => ({
        type: 'function_call_output',
        call_id,
        output: 'Sunny.',
      }));
      const watched = service.tap.next();
      const input = outputs.length > 0 ? outputs : 'Thank you.';
      const again = await service.askWell(input, { body: { previous_response_id: id, tools: [TOOL] } });
      for (const call of callsOf(again.output)) requireCall(call);
      requireLookedBack(watched);
    },
  },
];

function askWithTool(service: ContractService): Promise<ResponseObject> {
  return service.askWell('How is the weather in Paris?', { body: { tools: [TOOL] } });
}

function callsOf(output: readonly Item[]): readonly Item[] {
  return output.filter(isToolCall);
}

function requireCall({ type, name, arguments: json }: Item): void {
  requireRule(type === 'function_call', 'a function tool must be called by a function_call');
  requireRule(name === TOOL.name, `only tools that were offered may be called, not ${String(name)}`);
  requireRule(isJsonObject(json), `arguments must be a JSON object, not ${String(json)}`);
}

function requireLookedBack({ looksBack }: WatchedTurn): void {
  requireRule(looksBack, 'the provider must read turn.context (or go on from turn.parent): it saw only turn.input');
}

function isJsonObject(text: unknown): boolean {
  try {
    return isObject(JSON.parse(String(text)));
  } catch {
    return false;
  }
}

function toMessage(text: string): object {
  return { type: 'message', role: 'user', content: text };
}
