import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis as Client } from 'ioredis';

import type { Tenant } from '../../src/access/index.js';
import { Environment } from '../../src/config/index.js';
import { type Claims, MemoryBackend, type StateBackend } from '../../src/state/index.js';
import { FILE_NAME } from '../../src/state/sqlite/open-database.js';
import { FakeClock } from '../../src/testing/index.js';
import { describeRedis } from '../support/redis/describe-redis.js';
import { findKeys } from '../support/redis/remove-keys.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { openPostgres, type OpenedPostgres } from './postgres-fixture.js';
import { newTenant, TTL_MS } from '../../src/testing/state/records.js';
import { openRedis } from './redis-fixture.js';
import { openSqlite, sqliteIn } from './sqlite-fixture.js';

/** More than a sweep forgets at once. */
const MANY = 1500;

describe.each(BACKENDS)('claims in $name', ({ open }) => {
  let opened: OpenedBackend;
  let claims: Claims;
  /** Those of another replica, where there is one. */
  let others: Claims;
  let tenant: Tenant;
  let expiresAt: number;

  beforeAll(async () => {
    opened = await open();
    ({ claims } = opened.backend);
    others = (await replicaOf(opened)).claims;
  });
  beforeEach(() => {
    tenant = newTenant();
    expiresAt = opened.clock.now() + TTL_MS;
  });
  afterAll(() => opened.close());

  it('claims belong to the first who comes, who may come again', async () => {
    expect(await claims.claim(tenant, 'approval', 'first', expiresAt)).toBe('first');
    expect(await others.claim(tenant, 'approval', 'second', expiresAt)).toBe('first');
    expect(await others.claim(tenant, 'approval', 'first', expiresAt)).toBe('first');
    expect(await claims.claim(tenant, 'another approval', 'second', expiresAt)).toBe('second');
  });

  it('a claim has one owner when many come at once, also after another one', async () => {
    const comeAtOnce = async (names: readonly string[], until: number): Promise<void> => {
      const answers = await Promise.all(
        names.map((name, index) => (index % 2 === 0 ? claims : others).claim(tenant, 'approval', name, until)),
      );
      expect(new Set(answers).size).toBe(1);
      expect(names).toContain(answers[0]);
    };
    const namesOf = (kind: string): readonly string[] => Array.from({ length: 20 }, (_, index) => `${kind} ${index}`);
    await comeAtOnce(namesOf('early'), expiresAt);
    opened.clock.advance(TTL_MS);
    await comeAtOnce(namesOf('late'), expiresAt + TTL_MS);
  });

  it('claims are free again once their owner releases them, and nobody else can', async () => {
    await claims.claim(tenant, 'approval', 'first', expiresAt);
    await others.release(tenant, 'approval', 'second');
    await others.release(newTenant(), 'approval', 'first');
    expect(await others.claim(tenant, 'approval', 'second', expiresAt)).toBe('first');
    await claims.release(tenant, 'approval', 'first');
    await claims.release(tenant, 'approval', 'first');
    expect(await others.claim(tenant, 'approval', 'second', expiresAt)).toBe('second');
  });

  it('claims that are held are found with their owners, by whichever replica, and no others', async () => {
    const later = expiresAt + TTL_MS;
    await claims.claim(tenant, 'short', 'first', expiresAt);
    await claims.claim(tenant, 'odd \0\n"name"', 'an\n"owner"', later);
    await claims.claim(newTenant(), 'foreign', 'first', later);
    await claims.claim(tenant, 'released', 'first', later);
    await claims.release(tenant, 'released', 'first');
    const names = ['odd \0\n"name"', 'short', 'foreign', 'released', 'unknown'];
    const held = async () => new Map((await others.held(tenant, names)).map((claim) => [claim.name, claim]));
    const odd = { name: names[0], owner: 'an\n"owner"', expiresAt: later };
    expect(await held()).toEqual(
      new Map([
        [names[0], odd],
        ['short', { name: 'short', owner: 'first', expiresAt }],
      ]),
    );
    opened.clock.advance(TTL_MS);
    expect(await held()).toEqual(new Map([[names[0], odd]]));
    expect(await others.held(tenant, [])).toEqual([]);
    expect(await others.held(newTenant(), names)).toEqual([]);
  });

  it('claims belong to their tenant', async () => {
    await claims.claim(tenant, 'approval', 'first', expiresAt);
    expect(await claims.claim(newTenant(), 'approval', 'second', expiresAt)).toBe('second');
  });

  it('claims are free once they have expired, and not before, whoever asks for longer meanwhile', async () => {
    await claims.claim(tenant, 'approval', 'first', expiresAt);
    opened.clock.advance(TTL_MS - 1);
    expect(await others.claim(tenant, 'approval', 'second', expiresAt + TTL_MS)).toBe('first');
    opened.clock.advance(1);
    expect(await others.claim(tenant, 'approval', 'second', expiresAt + TTL_MS)).toBe('second');
    expect(await claims.claim(tenant, 'approval', 'first', expiresAt + TTL_MS)).toBe('second');
  });

  it('claims hold nothing when they have expired from the beginning', async () => {
    expect(await claims.claim(tenant, 'approval', 'first', opened.clock.now())).toBe('first');
    expect(await claims.claim(tenant, 'approval', 'second', expiresAt)).toBe('second');
  });

  it('claims outlive a sweep', async () => {
    await claims.claim(tenant, 'approval', 'first', expiresAt);
    await opened.backend.responses.purge();
    expect(await claims.claim(tenant, 'approval', 'second', expiresAt)).toBe('first');
  });

  it.each(['a\0b', 'half \uD800 a pair', 'x'.repeat(3000), ' space', '{brace}', '1 "quote"\n[1]'])(
    'claims take any text, such as %j',
    async (text) => {
      const odd = `${tenant}${text}` as Tenant;
      expect(await claims.claim(odd, text, text, expiresAt)).toBe(text);
      expect(await others.claim(odd, text, 'second', expiresAt)).toBe(text);
      expect(await claims.claim(odd, `${text}.`, 'second', expiresAt)).toBe('second');
    },
  );
});

async function replicaOf({ backend, ...rest }: OpenedBackend): Promise<StateBackend> {
  return 'replica' in rest ? (rest as OpenedPostgres).replica() : backend;
}

describe('claims in the memory of a process', () => {
  it('claims make room for new ones: first those that have expired, then the oldest', async () => {
    const clock = new FakeClock();
    const { claims } = new MemoryBackend(Object.assign(new Environment(), { MEMORY_MAX_RESPONSES: 3 }), clock);
    const tenant = newTenant();
    const later = clock.now() + TTL_MS;
    const claim = (name: string, owner: string, expiresAt = later): Promise<string> =>
      claims.claim(tenant, name, owner, expiresAt);
    await claim('a', 'first');
    await claim('short', 'first', clock.now() + 1);
    await claim('b', 'first');
    clock.advance(1);
    await claim('c', 'first');
    expect(await claim('a', 'second')).toBe('first');
    await claim('d', 'first');
    expect(await claim('b', 'second')).toBe('first');
    expect(await claim('a', 'second')).toBe('second');
  });
});

describe('claims in a file', () => {
  it('claims in a file are there after a restart, and go with the sweep once they have expired', async () => {
    await using opened = await openSqlite();
    const { backend, clock, directory } = opened;
    const tenant = newTenant();
    const [soon, later] = [clock.now() + 1, clock.now() + TTL_MS];
    await Promise.all(
      Array.from({ length: MANY }, (_, index) => backend.claims.claim(tenant, `${index}`, 'first', soon)),
    );
    await backend.claims.claim(tenant, 'approval', 'first', later);
    await backend.stop();
    clock.advance(1);
    const restarted = sqliteIn(directory, clock);
    await restarted.start();
    expect(await restarted.claims.claim(tenant, 'approval', 'second', later)).toBe('first');
    expect(await restarted.responses.purge()).toBe(true);
    expect(await restarted.responses.purge()).toBe(false);
    await restarted.stop();
    using database = new DatabaseSync(join(directory, FILE_NAME));
    expect(database.prepare('SELECT name, holder FROM claims').all()).toEqual([
      { name: 'approval', holder: '"first"' },
    ]);
  });
});

describe('claims in PostgreSQL', () => {
  it('claims go with the sweep once they have expired', async () => {
    await using opened = await openPostgres();
    const { backend, clock, database } = opened;
    const tenant = newTenant();
    await database.query(
      `INSERT INTO antiphon.claims (owner, name, holder, expires_at)
      SELECT $1, n, '"first"', $2 FROM generate_series(1, ${MANY}) AS n`,
      [tenant, new Date(clock.now())],
    );
    await backend.claims.claim(tenant, 'approval', 'first', clock.now() + 1);
    expect(await backend.responses.purge()).toBe(true);
    expect(await backend.responses.purge()).toBe(false);
    expect(await database.query('SELECT name FROM antiphon.claims')).toEqual([{ name: 'approval' }]);
  });
});

describeRedis('claims in Redis', () => {
  let client: Client;

  beforeEach(() => {
    client = new Client(process.env['TEST_REDIS_URL'] ?? '');
  });
  afterEach(() => client.quit());

  it('claims expire by themselves, a while after nobody counts them any more', async () => {
    await using opened = await openRedis();
    const { backend, clock, prefix } = opened;
    await backend.claims.claim(newTenant(), 'approval', 'first', clock.now() + TTL_MS);
    const [key, ...rest] = await findKeys(process.env['TEST_REDIS_URL'], `${prefix}:claim:*`);
    expect(rest).toEqual([]);
    const lifetime = await client.pttl(String(key));
    expect(lifetime).toBeGreaterThan(TTL_MS);
    expect(lifetime).toBeLessThanOrEqual(TTL_MS + 600_000);
  });
});
