import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

import type { RawAnswer } from './raw-client.js';

/** Opens a connection on which nothing is said yet. What goes wrong with it shows in what it receives. */
export async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket.on('error', () => undefined);
}

/** All that the service sends on a connection until it closes it. */
export async function receiveAll(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  if (!socket.closed) await once(socket, 'close');
  return text;
}

/** Says these bytes on a new connection and gives the answers; the service has to close it. */
export async function exchange(port: number, bytes: string | Uint8Array): Promise<readonly RawAnswer[]> {
  const socket = await openSocket(port);
  const received = receiveAll(socket);
  socket.write(bytes);
  return splitAnswers(await received);
}

/** Takes apart what was received on a connection. Every answer must say how long it is. */
export function splitAnswers(received: string): readonly RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = Buffer.from(received);
  while (rest.length > 0) {
    const end = rest.indexOf('\r\n\r\n');
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString().split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const length = Number(headers['content-length']);
    if (end < 0 || !Number.isInteger(status) || !Number.isInteger(length)) throw new Error(`no answer: ${received}`);
    answers.push({ status, headers, text: rest.subarray(end + 4, end + 4 + length).toString() });
    rest = rest.subarray(end + 4 + length);
  }
  return answers;
}
