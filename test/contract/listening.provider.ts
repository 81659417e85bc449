import { ModelProvider } from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';

/** A script that thinks, says how much was said before, and calls a tool where a question finds one to call. */
@ModelProvider('listener')
export class ListeningProvider extends ScriptedProvider {
  constructor() {
    super();
    this.otherwise(async function* ({ context, settings }) {
      yield { type: 'reasoning', delta: 'Let me think.' };
      yield [{ type: 'text', delta: `I heard ${context.length} things.` }];
      const [tool] = settings.tools;
      if (tool?.type === 'function' && context.at(-1)?.type === 'message') {
        yield { type: 'function_call', name: tool.name };
        yield { type: 'function_call_arguments', delta: '{"city":"Paris"}' };
      }
      yield { type: 'usage', input: 7, output: 5, reasoning: 2 };
      yield { type: 'finish', reason: 'stop' };
    });
  }
}
