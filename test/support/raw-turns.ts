import type { Service } from './service.js';
import { SocketClient } from './socket-client.js';

/** A turn, and whether it goes on from the one before it in the list. */
export interface ListedTurn {
  readonly name: string;
  readonly body: object;
  readonly goesOn?: boolean;
}

/** What turns were like on the wire, byte by byte. */
export interface RawTurns {
  readonly sse: readonly string[];
  readonly ws: readonly string[];
  /** Streams whose deltas are padded. */
  readonly padded: readonly string[];
}

const ID_OF_RESPONSE = /"id":"(resp_[^"]+)"/;

/** Runs turns one after another, first as streams, then on one socket, then as streams with padding. `more` is added to each. */
export async function recordTurns(
  service: Service,
  turns: readonly ListedTurn[],
  more: object = {},
): Promise<RawTurns> {
  await using client = await SocketClient.open(service);
  const frames: string[] = [];
  client.socket.on('message', (data: Buffer) => frames.push(toBytes(data)));
  const overSocket = async (body: object): Promise<string> => {
    frames.length = 0;
    await client.turn({ ...body });
    return frames.join('\n');
  };
  return {
    sse: await runInOrder(turns, (body) => readStream(service, { ...body, ...more })),
    ws: await runInOrder(turns, (body) => overSocket({ ...body, ...more })),
    padded: await runInOrder(turns, (body) => readStream(service, { ...body, ...more }, true)),
  };
}

/** Runs turns as streams, each list of those that go on from one another at the same time as all others. */
export async function recordConversations(
  service: Service,
  conversations: readonly (readonly ListedTurn[])[],
): Promise<readonly (readonly string[])[]> {
  return Promise.all(conversations.map((turns) => runInOrder(turns, (body) => readStream(service, body))));
}

async function runInOrder(
  turns: readonly ListedTurn[],
  run: (body: object) => Promise<string>,
): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const { body, goesOn = false } of turns) {
    const previous = ID_OF_RESPONSE.exec(texts.at(-1) ?? '')?.[1];
    texts.push(await run({ ...body, ...(goesOn ? { previous_response_id: previous } : {}) }));
  }
  return texts;
}

/** The whole body of a stream. */
async function readStream(service: Service, body: object, include_obfuscation = false): Promise<string> {
  const answer = await fetch(`${service.baseURL}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true, stream_options: { include_obfuscation } }),
  });
  return toBytes(Buffer.from(await answer.arrayBuffer()));
}

/** One character for each byte. */
function toBytes(data: Buffer): string {
  return data.toString('latin1');
}
