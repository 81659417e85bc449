import { describe, expect, it } from '@jest/globals';

import { type ModelInfo, ModelProvider, type ModelSink, PushingProvider, type Turn } from '../../src/index.js';
import { useService } from '../support/describe-service.js';
import { TRANSPORTS } from '../support/transports.js';

const PIECE = 'x'.repeat(1024);
const PIECES = 1000;

/** Writes on, whatever it is told. */
@ModelProvider('eager')
class EagerProvider extends PushingProvider {
  /** Ends the one that goes on for nobody. */
  isOver = false;

  override async models(): Promise<readonly ModelInfo[]> {
    return ['never waits', 'never stops', 'quick'].map((id) => ({ id, ownedBy: 'test', created: 0 }));
  }

  override async push(turn: Turn, sink: ModelSink): Promise<void> {
    const { model } = turn.settings;
    if (model === 'never waits')
      for (let piece = 0; piece < PIECES; piece++) void sink.write([{ type: 'text', delta: PIECE }]);
    while (model === 'never stops' && !this.isOver) await sink.write([{ type: 'text', delta: PIECE }]);
    void sink.write([
      { type: 'text', delta: 'done' },
      { type: 'usage', input: 1, output: 1 },
      { type: 'finish', reason: 'stop' },
    ]);
  }
}

describe.each(TRANSPORTS)('a provider that writes on, over $name', (transport) => {
  const service = useService({
    providers: [EagerProvider],
    environment: { MAX_OUTPUT_CHARACTERS: 2 * PIECES * PIECE.length },
  });

  it('a provider that writes on loses nothing and keeps the order, though it never waits', async () => {
    const { response } = await transport.run(service, { model: 'never waits', input: 'x' });
    expect(response.status).toBe('completed');
    expect(response.output).toMatchObject([{ content: [{ text: `${PIECE.repeat(PIECES)}done` }] }]);
  });

  it('a provider that writes on lets others have their turn, though it never stops', async () => {
    const endless = transport.run(service, { model: 'never stops', input: 'x' });
    expect((await endless).response.status).toBe('failed');
    const { response } = await transport.run(service, { model: 'quick', input: 'x' });
    expect(response.status).toBe('completed');
    service.app.get(EagerProvider).isOver = true;
  });
});
