import { Agent } from 'node:http';
import { text } from 'node:stream/consumers';

import { SEARCH } from '../traffic.ts';
import { type Outcome, send } from './http.ts';

/** Turns in which a tool may be called. */
interface ToolsJob {
  readonly url: string;
  /** The body of every request, JSON. That of one which brings an output has its own input. */
  readonly body: string;
  /** The types of the output items that every turn must have, those of both responses where the client answers a call. */
  readonly expected: readonly string[];
  readonly streams: number;
  readonly turnsPerStream: number;
}

/** The members of a response that are read. */
interface ToolsResponse {
  readonly id: string;
  readonly output: readonly { readonly type: string; readonly call_id?: string }[];
}

/**
 * Runs streams of turns that are not streamed themselves, and answers the calls of functions with a second request. A turn counts once.
 * Resolves with the first response too. Rejects if a turn has other items than expected.
 */
export async function runTools(job: ToolsJob): Promise<Outcome & { readonly responseId: string }> {
  const { url, body, expected, streams, turnsPerStream } = job;
  const agent = new Agent({ keepAlive: true, maxSockets: streams });
  const request = JSON.parse(body) as object;
  const total = { turns: 0, bytes: 0 };
  let responseId = '';
  const ask = async (what: string): Promise<ToolsResponse> => {
    const answer = await text(await send(url, what, agent));
    total.bytes += answer.length;
    const response = JSON.parse(answer) as Partial<ToolsResponse>;
    if (response.output === undefined) throw new Error(`the answer was: ${answer}`);
    return response as ToolsResponse;
  };
  const start = performance.now();
  const stream = async (): Promise<void> => {
    for (let turn = 0; turn < turnsPerStream; turn++) {
      const { id, output } = await ask(body);
      const call = output.find(({ type }) => type === 'function_call');
      const input = [{ type: 'function_call_output', call_id: call?.call_id, output: SEARCH.output }];
      const rest = call && (await ask(JSON.stringify({ ...request, previous_response_id: id, input })));
      const types = [...output, ...(rest?.output ?? [])].map(({ type }) => type);
      if (types.join() !== expected.join()) throw new Error(`a turn had the items ${types.join()}`);
      total.turns += 1;
      responseId = id;
    }
  };
  await Promise.all(Array.from({ length: streams }, stream));
  const seconds = (performance.now() - start) / 1000;
  agent.destroy();
  return { ...total, seconds, responseId };
}
