import { createServer } from 'node:http';

import { exportJWK, generateKeyPair, type GenerateKeyPairResult, SignJWT } from 'jose';

import { LocalServer } from '../support/local-server.js';

/** Claims and header of a token that differ from those of a good one; undefined leaves a claim out. */
export interface TokenOptions {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly alg?: string;
  readonly kid?: string;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}

/** An issuer of tokens on this machine: an OpenID configuration, its keys, and how it misbehaves. */
export class Issuer extends LocalServer {
  /** Requests for the keys. */
  keyRequests = 0;
  /** The status that everything is answered with; 200 when it is well. */
  status = 200;
  /** Bytes that its answers have in addition. */
  padding = 0;
  private keys: GenerateKeyPairResult[] = [];

  private constructor() {
    const server = createServer({ keepAliveTimeout: 0 }, (request, reply) => {
      void this.answer(request.url ?? '').then((body) => {
        reply.writeHead(this.status, { 'content-type': 'application/json' });
        reply.end(JSON.stringify(body) + ' '.repeat(this.padding));
      });
    });
    super(server);
  }

  static async start(): Promise<Issuer> {
    const issuer = await new Issuer().listen();
    await issuer.rotate();
    return issuer;
  }

  get url(): string {
    return this.origin;
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
}

/** The beginning of the public key names it. */
async function kidOf({ publicKey }: GenerateKeyPairResult): Promise<string> {
  return String((await exportJWK(publicKey)).x).slice(0, 8);
}
