/**
 * The floor of saving: inserts the same rows with one prepared statement, without any checks. Texts are prepared before the time
 * is measured.
 */
import type { ResponseRecord } from 'antiphon';
import pg from 'pg';

import { runSaves } from './run-saves.ts';

/** For a chain of one question and one answer in each response. */
const INSERT = `WITH response AS (
    INSERT INTO antiphon.responses
      (owner, id, parent_id, session_id, status, model, created_at, expires_at, labels, origin, size, items_size, body)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL, $9, $10, $11, $12)
  ), member AS (
    INSERT INTO antiphon.session_responses (owner, session_id, created_at, response_id) VALUES ($1, $4, $7, $2)
  )
  INSERT INTO antiphon.items (owner, response_id, position, kind, item_key, body)
  VALUES ($1, $2, 1, 'input', $13, $14), ($1, $2, 2, 'output', $15, $16)`;

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: Number(process.env.DATABASE_POOL_SIZE),
});

function toValues({ response, input, parentId, sessionId, origin, expiresAt }: ResponseRecord): readonly unknown[] {
  const body = JSON.stringify({ ...response, output: [] });
  const [question, answer] = [...input, ...response.output].map((item) => [item.id, JSON.stringify(item)] as const);
  if (question === undefined || answer === undefined) throw new Error('a response has one question and one answer');
  const head = [response.id, parentId, sessionId, response.status, response.model];
  const times = [new Date(response.created_at * 1000), new Date(expiresAt)];
  const sizes = [bytesOf(body, answer[1]), bytesOf(question[1], answer[1])];
  return ['bench', ...head, ...times, JSON.stringify(origin), ...sizes, body, ...question, ...answer];
}

function bytesOf(...texts: readonly string[]): number {
  return Buffer.byteLength(texts.join(''));
}

runSaves((record) => {
  const values = [...toValues(record)];
  return () => pool.query({ name: 'insert', text: INSERT, values });
});
