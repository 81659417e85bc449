import { type Agent, type IncomingMessage, request as openRequest } from 'node:http';

/** Posts JSON; resolves once the headers of the answer have arrived. */
export function post(url: string, body: string, agent: Agent): Promise<IncomingMessage> {
  return send(url, body, agent);
}

/** Sends GET; resolves once the headers of the answer have arrived. */
export function get(url: string, agent: Agent): Promise<IncomingMessage> {
  return send(url, undefined, agent);
}

function send(url: string, body: string | undefined, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body ?? '') };
    const options = body === undefined ? { agent } : { agent, method: 'POST', headers };
    openRequest(url, options, resolve).once('error', reject).end(body);
  });
}
