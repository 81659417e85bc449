import type OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';

type Params = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>;
type Response = OpenAI.Responses.Response;
type Item = OpenAI.Responses.ResponseInputItem;
type Call = OpenAI.Responses.ResponseFunctionToolCall;

/** What of a request does not change from turn to turn. */
export type LoopSettings = Omit<Params, 'input' | 'previous_response_id'>;

/** Runs one turn. */
export type RunTurn = (params: Params) => Promise<Response>;

/** An agent's loop that has come to its end. */
export interface Loop {
  readonly responses: readonly Response[];
  /** The calls, in order, of all responses. */
  readonly calls: readonly Call[];
  /** Everything that was said, as a stateless client has it. */
  readonly history: readonly Item[];
}

/** More than any loop here may have. */
const MOST_TURNS = 40;

/**
 * Answers calls until a response has none, as an agent without a framework does: `chained` names the response before and
 * sends the outputs only, else everything is sent again. Throws when there is no end.
 */
export async function runLoop(
  run: RunTurn,
  settings: LoopSettings,
  { prompt, chained }: { readonly prompt: string; readonly chained: boolean },
): Promise<Loop> {
  const history: Item[] = [{ role: 'user', content: prompt }];
  const responses: Response[] = [];
  const calls: Call[] = [];
  let input: Item[] = [...history];
  while (responses.length < MOST_TURNS) {
    const previous = chained ? responses.at(-1)?.id : undefined;
    const response = await run({
      ...settings,
      input: chained ? input : [...history],
      ...(previous === undefined ? {} : { previous_response_id: previous }),
    });
    responses.push(response);
    const asked = response.output.filter((item) => item.type === 'function_call');
    calls.push(...asked);
    input = asked.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'Sunny.' }));
    history.push(...(response.output as Item[]), ...input);
    if (asked.length === 0) return { responses, calls, history };
  }
  throw new Error(`the loop had no end after ${MOST_TURNS} turns`);
}

/** Runs every turn of a loop on one socket. */
export async function withOneSocket<T>(client: OpenAI, use: (run: RunTurn) => Promise<T>): Promise<T> {
  const socket = new ResponsesWS(client);
  const closed = new Promise((resolve) => socket.on('close', resolve));
  const events = socket.stream()[Symbol.asyncIterator]();
  const run: RunTurn = async (params) => {
    socket.send({ type: 'response.create', ...params });
    for (;;) {
      const next = await events.next();
      if (next.done === true) throw new Error('the socket was closed');
      if (next.value.type === 'error') throw next.value.error;
      if (next.value.type === 'message' && next.value.message.type === 'response.completed') {
        return next.value.message.response;
      }
    }
  };
  try {
    return await use(run);
  } finally {
    socket.close();
    await closed;
  }
}
