import { type ModelEvent, type ModelInfo, type ModelSink, PushingProvider, type Turn } from 'antiphon';

import { AGENT_MODEL, CALL_ARGUMENTS } from '../agent-traffic.ts';

/** The events of every call, precomputed. */
const CALL: readonly ModelEvent[] = [
  { type: 'function_call', name: 'search' },
  ...CALL_ARGUMENTS.map((delta) => ({ type: 'function_call_arguments', delta }) as const),
];

/** Calls a tool in every turn. Reads the whole context, as a model would. */
export class AgentProvider extends PushingProvider {
  override async models(): Promise<readonly ModelInfo[]> {
    return [{ id: AGENT_MODEL, ownedBy: 'bench', created: 0, reasoningEfforts: [] }];
  }

  override push({ context }: Turn, sink: ModelSink): Promise<void> {
    const waiting = sink.write([
      ...CALL,
      { type: 'usage', input: context.length, output: CALL_ARGUMENTS.length },
      { type: 'finish', reason: 'stop' },
    ]);
    return waiting ?? Promise.resolve();
  }
}
