import { type ModelEvent, type ModelInfo, ModelProviderBase, type Turn } from 'antiphon';

import { CALL_ARGUMENTS } from '../agent-traffic.ts';

/** Calls a tool in every turn. It looks at the whole conversation, as a model has to. */
export class AgentProvider extends ModelProviderBase {
  override async models(): Promise<readonly ModelInfo[]> {
    return [{ id: 'bench-agent', ownedBy: 'bench', created: 0, reasoningEfforts: [] }];
  }

  override async *generate({ context }: Turn): AsyncGenerator<readonly ModelEvent[]> {
    yield [
      { type: 'function_call', name: 'search' },
      ...CALL_ARGUMENTS.map((delta) => ({ type: 'function_call_arguments', delta }) as const),
      { type: 'usage', input: context.length, output: CALL_ARGUMENTS.length },
      { type: 'finish', reason: 'stop' },
    ];
  }
}
