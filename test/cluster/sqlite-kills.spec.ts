// Slow: starts the built service as several processes, and ends them.

import { describe, expect, it } from '@jest/globals';

import type { ResponseObject } from '../../src/protocol/index.js';
import type { UsagePage } from '../../src/resources/usage/usage-page.js';
import { inParallel } from '../support/in-parallel.js';
import { RawClient } from '../support/raw-client.js';
import { SqliteService } from '../support/sqlite-service.js';

const KILLS = 4;
/** Turns that are acknowledged before a kill, by all clients together. */
const TURNS = 12;

const LARGE = 'x'.repeat(500_000);

interface Listed {
  readonly data: readonly { readonly id: string }[];
}

/** A client that takes one turn after the other, in a chain or in a conversation. */
class Talker {
  readonly acknowledged: ResponseObject[] = [];

  constructor(
    /** Whether each turn continues the one before. */
    readonly isChain: boolean,
    readonly conversation: string | null = null,
    private readonly input = 'Go on.',
  ) {}

  /** Takes turns until the service is gone. */
  async talk(port: number, told: () => void): Promise<void> {
    const client = new RawClient(port);
    try {
      for (;;) {
        this.acknowledged.push(await this.turn(client));
        told();
      }
    } catch (error) {
      // The service was killed.
      if (!('code' in (error as Error))) throw error;
    } finally {
      client.close();
    }
  }

  async turn(client: RawClient): Promise<ResponseObject> {
    const last = this.acknowledged.at(-1);
    const place =
      this.conversation === null
        ? { previous_response_id: this.isChain ? (last?.id ?? null) : null }
        : { conversation: this.conversation };
    const { status, text } = await client.post(
      JSON.stringify({ model: 'gpt-4.1', input: this.input, text: { verbosity: 'low' }, ...place }),
    );
    if (status !== 200) throw new Error(`HTTP ${status}: ${text}`);
    return JSON.parse(text) as ResponseObject;
  }
}

describe('a service over a file that is killed again and again', () => {
  it(`a service over a file loses nothing that it has acknowledged, in ${KILLS} kills`, async () => {
    await using service = await SqliteService.start();
    const get = async <T>(path: string): Promise<T> => {
      const { status, text } = await service.process.client.send({ path });
      if (status !== 200) throw new Error(`GET ${path}: HTTP ${status}: ${text}`);
      return JSON.parse(text) as T;
    };
    const conversations = await Promise.all(
      [1, 2].map(async () => {
        const headers = { 'content-type': 'application/json' };
        const created = { method: 'POST', path: '/v1/conversations', headers, body: '{}' };
        const { text } = await service.process.client.send(created);
        return (JSON.parse(text) as { readonly id: string }).id;
      }),
    );
    const talkers = [null, null, ...conversations].map((id) => new Talker(true, id));
    // Fills the log until it is moved into the file.
    talkers.push(new Talker(false, null, LARGE));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const enough = Promise.withResolvers<undefined>();
      let turns = 0;
      const talking = talkers.map((talker) =>
        talker.talk(service.port, () => {
          turns += 1;
          if (turns === TURNS) enough.resolve(undefined);
        }),
      );
      await enough.promise;
      await service.end('SIGKILL');
      await Promise.all(talking);
      await service.startAgain();
    }

    const stored: string[] = [];
    for (let hasMore = true; hasMore;) {
      const after = stored.length === 0 ? '' : `&after=${String(stored.at(-1))}`;
      const page = await get<Listed & { readonly has_more: boolean }>(`/v1/responses?limit=100${after}`);
      stored.push(...page.data.map(({ id }) => id));
      hasMore = page.has_more;
    }
    const { data: days } = await get<UsagePage>('/v1/usage');
    const counted = days.flatMap(({ results }) => results).reduce((sum, { turns }) => sum + turns, 0);
    expect(counted).toBe(stored.length);

    const acknowledged = talkers.flatMap((talker) => talker.acknowledged);
    expect(acknowledged.length).toBeGreaterThanOrEqual(KILLS * TURNS);
    await inParallel(acknowledged, 8, async (response) => {
      expect(await get(`/v1/responses/${response.id}`)).toEqual(response);
    });
    for (const talker of talkers) {
      const outputs = talker.acknowledged.flatMap(({ output }) => output.map(({ id }) => id));
      if (talker.conversation !== null) {
        const kept: string[] = [];
        for (;;) {
          const after = kept.length === 0 ? '' : `&after=${String(kept.at(-1))}`;
          const path = `/v1/conversations/${talker.conversation}/items?order=asc&limit=100${after}`;
          const { data } = await get<Listed>(path);
          if (data.length === 0) break;
          kept.push(...data.map(({ id }) => id));
        }
        // Turns that were saved and not acknowledged may be between them.
        expect(kept.filter((id) => outputs.includes(id))).toEqual(outputs);
        expect(new Set(kept).size).toBe(kept.length);
      }
      const next = await talker.turn(service.process.client);
      expect(next.status).toBe('completed');
      if (!talker.isChain) continue;
      // It has seen all that was said before.
      expect(next.usage?.input_tokens).toBeGreaterThan(talker.acknowledged.at(-1)?.usage?.input_tokens ?? Infinity);
    }
  });
});
