import { type ModelEvent, type ModelInfo, ModelError, ModelProvider, ModelProviderBase, type Turn } from 'antiphon';

@ModelProvider('acme')
export class AcmeProvider extends ModelProviderBase {
  private readonly url = process.env['ACME_URL'] ?? 'http://127.0.0.1:9000';

  override async models(): Promise<readonly ModelInfo[]> {
    return [{ id: 'acme-1', ownedBy: 'acme', created: 1_767_225_600, reasoningEfforts: [] }];
  }

  override async *generate(turn: Turn, { signal }: { signal: AbortSignal }): AsyncGenerator<ModelEvent> {
    const answer = await fetch(`${this.url}/generate`, {
      method: 'POST',
      body: JSON.stringify({ instructions: turn.settings.instructions, items: turn.context }),
      signal,
    });
    if (answer.status === 429) {
      throw new ModelError('rate_limit_exceeded', 'Acme is busy.', { status: 429, retryAfterMs: 2000 });
    }
    if (!answer.ok || answer.body === null) throw new Error(`acme answered ${answer.status}`);
    for await (const text of answer.body.pipeThrough(new TextDecoderStream())) yield { type: 'text', delta: text };
    yield { type: 'finish', reason: 'stop' };
  }
}
