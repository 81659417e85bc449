import { type ModelEvent, type ModelInfo, ModelProvider, ModelProviderBase } from '../../src/index.js';

/** A provider that serves the one model it lists, and no other name. */
@ModelProvider('closed')
export class ClosedProvider extends ModelProviderBase {
  override async models(): Promise<readonly ModelInfo[]> {
    return [{ id: 'closed-1', ownedBy: 'closed', created: 1_767_225_600 }];
  }

  override async *generate(): AsyncGenerator<ModelEvent> {
    yield { type: 'text', delta: 'Closed.' };
    yield { type: 'finish', reason: 'stop' };
  }
}
