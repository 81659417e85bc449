import { type Agent, type IncomingMessage, request as openRequest } from 'node:http';

/** Posts JSON; resolves once the headers of the answer have arrived. */
export function post(url: string, body: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    openRequest(url, { method: 'POST', agent, headers }, resolve).once('error', reject).end(body);
  });
}
