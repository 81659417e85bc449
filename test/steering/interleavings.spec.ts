import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { checkEventOrder, ScriptedProvider, type WireEvent } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { type WrittenTurn, WrittenTurns } from '../support/held-turns.js';
import { isEnd, SocketClient } from '../support/socket-client.js';
import { transcript } from '../support/output.js';
import type { WireResponse } from '../support/transport.js';

type Step = 'text' | 'reasoning' | 'call' | 'end' | 'steer' | 'interrupt';

/** The frames of one lane by response, and those between responses. */
interface Story {
  readonly responses: WireEvent[][];
  readonly between: WireEvent[];
}

function read(frames: readonly WireEvent[]): Story {
  const story: Story = { responses: [], between: [] };
  let open = false;
  for (const { stream_id: _, ...frame } of frames) {
    if (frame.type === 'response.created') {
      story.responses.push([]);
      open = true;
    }
    if (open) story.responses.at(-1)?.push(frame);
    else story.between.push(frame);
    if (isEnd(frame)) open = false;
  }
  return story;
}

describe('whatever comes together', () => {
  const service = useService({ providers: [ScriptedProvider], environment: { MODEL_ACCEPT_TIMEOUT_MS: 1 } });

  it('a socket keeps the order of events, and applies every accepted steer once or fails it', async () => {
    service.provider.isSteerable = true;
    const steps = fc.array(
      fc.constantFrom<Step>('text', 'text', 'reasoning', 'call', 'end', 'steer', 'steer', 'steer', 'interrupt'),
      { minLength: 2, maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.array(fc.boolean(), { maxLength: 12 }), async (todo, waits) => {
        await using client = await SocketClient.open(service);
        const modelTurns = new WrittenTurns(service.provider);
        const asked: WrittenTurn[] = [];
        const frames: WireEvent[] = [];
        const hear = async (): Promise<void> => {
          const frame = await client.next();
          frames.push(frame);
        };
        client.create({ input: 'Begin', store: false, stream_id: 'a' });
        asked.push(await modelTurns.next());
        const current = (): WrittenTurn => asked.at(-1) as WrittenTurn;
        current().write({ type: 'text', delta: 'a' });
        await hear();
        let steers = 0;
        const lastId = (): string =>
          (frames.findLast(({ type }) => type === 'response.created')?.['response'] as WireResponse).id;
        for (const [index, step] of todo.entries()) {
          if (step === 'text') current().write({ type: 'text', delta: 'b' });
          else if (step === 'reasoning') current().write({ type: 'reasoning', delta: 'c' });
          else if (step === 'call') current().write({ type: 'function_call', name: 'weather' });
          else if (step === 'end') current().end();
          else if (step === 'interrupt')
            client.send({ type: 'response.interrupt', response_id: lastId(), mode: 'discard_partial_items' });
          else {
            steers += 1;
            client.send({ type: 'response.steer', previous_response_id: lastId(), input: `Steer ${steers}` });
          }
          if (waits[index] === true && client.unread.length > 0) await hear();
        }
        // Every response is let go until nothing follows; an event of its own is answered last.
        for (const modelTurn of asked) modelTurn.end();
        const stop = new AbortController();
        const others = (async () => {
          for (;;) {
            const modelTurn = await Promise.race([modelTurns.next(), whenAborted(stop.signal)]);
            if (modelTurn === undefined) return;
            asked.push(modelTurn);
            modelTurn.end();
          }
        })();
        const answered = (): number =>
          frames.filter(({ type }) => /^response.steer.(?:accepted|failed)$/.test(type)).length;
        while (!isAtRest(frames) || answered() < steers) await hear();
        stop.abort();
        await others;

        const { responses, between } = read(frames);
        for (const events of responses) checkEventOrder(events, { transport: 'ws' });
        const ids = responses.map(([created]) => (created?.['response'] as WireResponse).id);
        for (const [index, [created]] of responses.entries()) {
          expect(created?.['response']).toMatchObject({ previous_response_id: ids[index - 1] ?? null });
        }
        const accepted = frames.filter(({ type }) => type === 'response.steer.accepted').map(steerIdOf);
        const failed = frames.filter(({ type }) => type === 'response.steer.failed').map(steerIdOf);
        const pending = between.filter(({ type }) => type === 'response.steer.pending').map(steerIdOf);
        const applied = asked.slice(1).flatMap(({ turn }) => transcript(turn.input));
        expect(new Set(applied).size).toBe(applied.length);
        const lost = failed.filter((id) => id !== undefined);
        expect(applied.length + lost.length + pending.length).toBe(accepted.length);
      }),
      { numRuns: 60 },
    );
  });
});

/** Whether no frame of a response is missing: its end has come, and what has to follow. */
function isAtRest(frames: readonly WireEvent[]): boolean {
  const end = frames.findLastIndex(isEnd);
  if (end < frames.findLastIndex(({ type }) => type === 'response.created')) return false;
  const waiting = new Set<unknown>();
  for (const frame of frames) {
    if (frame.type === 'response.created') waiting.clear();
    if (frame.type === 'response.steer.accepted') waiting.add(steerIdOf(frame));
    if (frame.type === 'response.steer.failed' || frame.type === 'response.steer.pending')
      waiting.delete(steerIdOf(frame));
  }
  return end >= 0 && waiting.size === 0;
}

function steerIdOf({ steer }: WireEvent): unknown {
  return (steer as { readonly id?: string }).id;
}

function whenAborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
