import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { exportJWK, generateKeyPair, type GenerateKeyPairResult, SignJWT } from 'jose';

/** Claims and header of a token that differ from those of a good one; undefined leaves a claim out. */
export interface TokenOptions {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly alg?: string;
  readonly kid?: string;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}

/** An issuer of tokens on this machine: an OpenID configuration, its keys, and how it misbehaves. */
export class Issuer implements AsyncDisposable {
  /** Requests for the keys. */
  keyRequests = 0;
  /** The status that everything is answered with; 200 when it is well. */
  status = 200;
  /** Bytes that its answers have in addition. */
  padding = 0;
  private keys: GenerateKeyPairResult[] = [];

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Issuer> {
    const server = createServer({ keepAliveTimeout: 0 });
    const issuer = new Issuer(server);
    server.on('request', (request, reply) => {
      void issuer.answer(request.url ?? '').then((body) => {
        reply.writeHead(issuer.status, { 'content-type': 'application/json' });
        reply.end(JSON.stringify(body) + ' '.repeat(issuer.padding));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    await issuer.rotate();
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Signs with a new key from now on; the one before stays valid, older ones do not. */
  async rotate(): Promise<void> {
    this.keys = [await generateKeyPair('ES256', { extractable: true }), ...this.keys.slice(0, 1)];
  }

  /** A token of tenant red for the audience `antiphon`. */
  async sign({ claims = {}, alg = 'ES256', kid, expiresAt }: TokenOptions): Promise<string> {
    const [key] = this.keys;
    if (key === undefined) throw new Error('there is no key');
    const payload = { iss: this.url, aud: 'antiphon', sub: 'user-1', tenant: 'red', exp: expiresAt, ...claims };
    return new SignJWT(payload).setProtectedHeader({ alg, kid: kid ?? (await kidOf(key)) }).sign(key.privateKey);
  }

  private async answer(url: string): Promise<unknown> {
    if (url === '/.well-known/openid-configuration') return { issuer: this.url, jwks_uri: `${this.url}/keys` };
    this.keyRequests += 1;
    const keys = await Promise.all(
      this.keys.map(async (key) => ({ ...(await exportJWK(key.publicKey)), kid: await kidOf(key), alg: 'ES256' })),
    );
    return { keys };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }
}

/** The beginning of the public key names it. */
async function kidOf({ publicKey }: GenerateKeyPairResult): Promise<string> {
  return String((await exportJWK(publicKey)).x).slice(0, 8);
}
