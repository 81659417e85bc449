import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Redis } from 'ioredis';
import { Client } from 'pg';

import { StateBackend } from '../../src/state/index.js';
import { exported } from '../../src/testing/state/moved-state.js';
import { findKeys } from './redis/remove-keys.js';
import type { Service } from './service.js';
import type { TestState } from './states.js';

/** All that a service stores, for tests that look for what must not be there: files, rows or values as they are; an export of a memory. */
export async function dumpState({ environment }: TestState, { app }: Service): Promise<string> {
  switch (environment['STATE']) {
    case 'sqlite':
      return dumpFolder(String(environment['STATE_DIR']));
    case 'postgres':
      return dumpDatabase(String(environment['DATABASE_URL']));
    case 'redis':
      return dumpKeys(String(environment['REDIS_URL']), `${environment['REDIS_PREFIX']}:*`);
    default:
      return exported(app.get(StateBackend));
  }
}

async function dumpFolder(folder: string): Promise<string> {
  const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'latin1')));
  return files.join('\n');
}

async function dumpDatabase(connectionString: string): Promise<string> {
  // Bytes are written as the characters that they are.
  const client = new Client({ connectionString, options: '-c bytea_output=escape' });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname LIKE 'antiphon%'",
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ text: string }>(`SELECT each::text AS text FROM ${name} each`);
      texts.push(...rows.map(({ text }) => text));
    }
    return texts.join('\n');
  } finally {
    await client.end();
  }
}

async function dumpKeys(url: string, pattern: string): Promise<string> {
  const keys = await findKeys(url, pattern);
  const client = new Redis(url);
  try {
    const values = await Promise.all(keys.map((key) => readValue(client, key)));
    return JSON.stringify([keys, values]);
  } finally {
    client.disconnect();
  }
}

async function readValue(client: Redis, key: string): Promise<unknown> {
  switch (await client.type(key)) {
    case 'string':
      return client.get(key);
    case 'hash':
      return client.hgetall(key);
    case 'list':
      return client.lrange(key, 0, -1);
    case 'set':
      return client.smembers(key);
    case 'zset':
      return client.zrange(key, '0', '-1');
    case 'stream':
      return client.xrange(key, '-', '+');
    default:
      // It has expired.
      return null;
  }
}
