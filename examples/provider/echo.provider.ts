import { type ModelEvent, type ModelInfo, ModelProvider, ModelProviderBase, type Turn } from 'antiphon';

@ModelProvider('echo')
export class EchoProvider extends ModelProviderBase {
  override async models(): Promise<readonly ModelInfo[]> {
    return [{ id: 'echo-1', ownedBy: 'me', created: 1_767_225_600 }];
  }

  override async *generate(turn: Turn): AsyncGenerator<ModelEvent> {
    yield { type: 'text', delta: `You sent ${turn.context.length} items.` };
    yield { type: 'finish', reason: 'stop' };
  }
}
