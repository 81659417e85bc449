import { toBody } from '../traffic.ts';
import { COMPLETED, Connection } from './sockets.ts';

/** Concurrent clients of each kind. */
const OF_EACH_KIND = 2;

/** Turns per chain. */
const TURNS = 5;

/** Long enough that a client can disconnect before its end. */
const TRAFFIC = { deltas: 64, burst: 1 };

const STREAMED = toBody('bench', TRAFFIC, { stream: true });
const FRAME = `{"type":"response.create",${STREAMED.slice(1)}`;

/** Runs valid, invalid and aborted requests for some time. Rejects on a wrong answer. */
export async function runMixed({ url, milliseconds }: { readonly url: string; readonly milliseconds: number }) {
  const end = performance.now() + milliseconds;
  let turns = 0;
  const goOn = async (client: (url: string) => Promise<unknown>): Promise<void> => {
    for (; performance.now() < end; turns++) await client(url);
  };
  await Promise.all(CLIENTS.flatMap((client) => Array.from({ length: OF_EACH_KIND }, () => goOn(client))));
  return { turns };
}

const CLIENTS: readonly ((url: string) => Promise<unknown>)[] = [
  async function readStream(url) {
    const text = await (await post(url, STREAMED, 200)).text();
    if (!text.endsWith('data: [DONE]\n\n')) throw new Error(`a stream ended with: ${text.slice(-200)}`);
  },

  async function chainThenDelete(url) {
    let id: string | undefined;
    for (let turn = 0; turn < TURNS; turn++) {
      const answer = await post(url, toBody('bench', TRAFFIC, { previous_response_id: id }), 200);
      ({ id } = (await answer.json()) as { readonly id: string });
    }
    await (await fetch(`${url}/${id ?? ''}`, { method: 'DELETE' })).text();
  },

  async function chainOnSocketBetweenInvalidFrames(url) {
    await using connection = await Connection.open(url.replace('http', 'ws'));
    for (let turn = 0; turn < TURNS; turn++) {
      const error: unknown = await connection.ask('{"type":"nonsense"}').catch((reason: unknown) => reason);
      if (!String(error).includes('{"type":"error"')) throw new Error(`nonsense was answered with ${String(error)}`);
      const event = await connection.ask(FRAME);
      if (!event.startsWith(COMPLETED)) throw new Error(`a turn ended with ${event}`);
    }
  },

  async function leaveStream(url) {
    const reader = (await post(url, STREAMED, 200)).body?.getReader();
    await reader?.read();
    await reader?.cancel();
  },

  async function leaveSocket(url) {
    const connection = await Connection.open(url.replace('http', 'ws'));
    const { promise, resolve } = Promise.withResolvers<unknown>();
    connection.socket.once('message', resolve);
    const turn = connection.ask(FRAME).catch(() => undefined);
    await promise;
    connection.socket.terminate();
    await turn;
  },

  async function sendInvalidRequests(url) {
    await (await post(url, toBody('nothing', TRAFFIC, { stream: true }), 404)).text();
    await (await post(url, toBody('bench', TRAFFIC, { previous_response_id: 'resp_nothing' }), 400)).text();
    await (await post(url, '{"model":', 400)).text();
  },
];

async function post(url: string, body: string, status: number): Promise<Response> {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  if (answer.status === status) return answer;
  throw new Error(`status ${answer.status} instead of ${status}: ${await answer.text()}`);
}
