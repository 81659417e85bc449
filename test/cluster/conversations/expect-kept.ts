import { expect } from '@jest/globals';

import type { WireResponse } from '../../support/transport.js';
import type { Conversation, Exchange } from './conversation.js';
import { inParallel } from '../../support/in-parallel.js';
import { sendJson } from './send-turn.js';

type Json = Readonly<Record<string, unknown>>;

interface TreeNode {
  readonly id: string;
  readonly children: { readonly data: readonly TreeNode[]; readonly has_more: boolean };
}

/** Conversations looked at at a time. */
const WIDTH = 16;

/** Proves at a replica that nothing of these conversations which their clients were given is lost. */
export function expectKept(origin: string, conversations: readonly Conversation[]): Promise<void> {
  return inParallel(conversations, WIDTH, async (conversation) => {
    await expectSession(origin, conversation);
    await expectTree(origin, conversation);
    for (let turns = 1; turns <= conversation.exchanges.length; turns += 1) {
      const exchanges = conversation.exchanges.slice(0, turns);
      await expectResponse(origin, exchanges);
      await expectWholeContext(origin, exchanges);
    }
    for (const { responseId } of conversation.faults)
      if (responseId !== undefined) await expectWholeOrAbsent(origin, responseId);
  });
}

/** The response is what the client was given, hangs where it did, and has the input that it was made of. */
async function expectResponse(origin: string, exchanges: readonly Exchange[]): Promise<void> {
  const [parent, { said, response }] = [exchanges.at(-2), exchanges.at(-1) as Exchange];
  const { output_text: _kept, ...kept } = await get(origin, `/responses/${response.id}`);
  const { output_text: _given, ...given } = response;
  expect(kept).toEqual(given);
  expect(kept).toMatchObject({ previous_response_id: parent?.response.id ?? null });
  const { data } = await get(origin, `/responses/${response.id}/input_items`);
  expect(data).toEqual([expect.objectContaining({ content: [{ type: 'input_text', text: said }] })]);
}

/** A continuation is answered as if its client had sent the whole conversation itself. */
async function expectWholeContext(origin: string, exchanges: readonly Exchange[]): Promise<void> {
  const base = { model: 'gpt-4.1', store: false, text: { verbosity: 'low' } };
  const question = { role: 'user', content: 'What did we say?' };
  const parentId = exchanges.at(-1)?.response.id;
  const whole = exchanges.flatMap(({ said, response }) => [{ role: 'user', content: said }, ...outputOf(response)]);
  const continued = await sendJson(origin, { body: { ...base, previous_response_id: parentId, input: [question] } });
  const resent = await sendJson(origin, { body: { ...base, input: [...whole, question] } });
  expect(continued['output_text']).toBe(resent['output_text']);
  expect(continued['usage']).toMatchObject({ input_tokens: (resent['usage'] as Json)['input_tokens'] });
}

async function expectSession(origin: string, { name, session, exchanges }: Conversation): Promise<void> {
  if (session === undefined) return;
  const { data } = await get(origin, `/sessions/${session}/responses?order=asc&limit=100`);
  const known = new Set(exchanges.map(({ response }) => response.id));
  const kept = (data as readonly WireResponse[]).map(({ id }) => id).filter((id) => known.has(id));
  expect({ name, kept }).toEqual({ name, kept: [...known] });
}

/** The exchanges are a path from the root on. Turns that were made but not given may hang beside it. */
async function expectTree(origin: string, { name, exchanges }: Conversation): Promise<void> {
  const { root } = await get(origin, `/responses/${exchanges.at(-1)?.response.id}/tree`);
  const path: string[] = [];
  let level: readonly TreeNode[] = [root as TreeNode];
  for (const { response } of exchanges) {
    const node = level.find(({ id }) => id === response.id);
    if (node !== undefined) path.push(node.id);
    level = node?.children.data ?? [];
  }
  expect({ name, path }).toEqual({ name, path: exchanges.map(({ response }) => response.id) });
}

/** What was never acknowledged may have been saved, but not in part. */
async function expectWholeOrAbsent(origin: string, responseId: string): Promise<void> {
  const answer = await fetch(`${origin}/v1/responses/${responseId}`);
  const { status } = (await answer.json()) as Json;
  expect([answer.status, status]).toEqual(
    answer.status === 404 ? [404, undefined] : [200, expect.stringMatching(/^(?:completed|failed)$/)],
  );
}

async function get(origin: string, path: string): Promise<Json> {
  const answer = await fetch(`${origin}/v1${path}`);
  const body = (await answer.json()) as Json;
  expect({ path, status: answer.status, error: body['error'] ?? null }).toEqual({ path, status: 200, error: null });
  return body;
}

function outputOf(response: WireResponse): readonly Json[] {
  return response['output'] as readonly Json[];
}
