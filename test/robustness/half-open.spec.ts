import { expect, it } from '@jest/globals';

import { describeService } from '../support/describe-service.js';
import { findErrorFault } from '../support/raw-checks.js';
import { type RawAnswer, RawClient } from '../support/raw-client.js';
import { openSocket, receiveAll, splitAnswers } from '../support/raw-socket.js';

const HEAD = 'POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n';

describeService('a request that never becomes whole', { environment: { REQUEST_TIMEOUT_MS: 1000 } }, (service) => {
  it.concurrent.each([
    ['nothing at all', ''],
    ['half a head', 'POST /v1/responses HTTP/1.1\r\nhost: loc'],
    ['a head without its body', `${HEAD}content-length: 100\r\n\r\n`],
    ['half a body', `${HEAD}content-length: 100\r\n\r\n{"model":`],
    ['half a chunk', `${HEAD}transfer-encoding: chunked\r\n\r\n5\r\n{"m`],
    ['half a body in gzip', `${HEAD}content-encoding: gzip\r\ncontent-length: 100\r\n\r\n`],
  ])('a request that never becomes whole is given up after REQUEST_TIMEOUT_MS: %s', async (_name, bytes) => {
    const socket = await openSocket(service.port);
    const received = receiveAll(socket);
    socket.write(bytes);
    const answers = splitAnswers(await received);
    expect(answers).toMatchObject([{ status: 408, headers: { 'content-type': 'application/json; charset=utf-8' } }]);
    expect(findErrorFault(answers[0]?.text ?? '')).toBeUndefined();
    expect(answers[0]?.text).toContain('"code":"request_timeout"');
  });

  it('a request that never becomes whole holds nobody up meanwhile', async () => {
    const sockets = await Promise.all(Array.from({ length: 200 }, () => openSocket(service.port)));
    for (const socket of sockets) socket.write(`${HEAD}content-length: 100\r\n\r\n{`);
    const client = new RawClient(service.port);
    const ask = (): Promise<RawAnswer> => client.post('{"model":"gpt-4.1","input":"Hi"}');
    let { status } = await ask();
    // Of a process that stood still for so long while it was read: it may as well have been half a request.
    while (status === 408) ({ status } = await ask());
    expect(status).toBe(200);
    client.close();
    for (const socket of sockets) socket.destroy();
  });
});
