import { hash } from 'node:crypto';

import { RecentMap } from '../../recent-map.js';
import type { Clock } from '../../time/index.js';
import type { Fetch } from './bounded-fetch.js';
import { McpFailure } from './failures.js';
import type { OAuthEntry } from './servers-file.js';

/** A token counts as expired this long before it does, ms: it has a way to go. One that lives shortly, after half of its life. */
const EARLY_MS = 30_000;

/** Lifetime of a token whose answer names none, ms. */
const UNKNOWN_LIFETIME_MS = 5 * 60_000;

/** Tokens that are kept, one for each caller. */
const MOST_TOKENS = 1000;

/** How long the authorization server may take, ms. */
const TOKEN_LIMIT_MS = 10_000;

/** What tokens consist of: others would be quoted in the error of the header that cannot hold them. */
const TOKEN = /^[\x21-\x7e]+$/;

/** Errors of authorization servers (RFC 6749, RFC 8693): whatever else one says is not passed on. */
const ERROR_CODES: ReadonlySet<unknown> = new Set([
  'invalid_client',
  'invalid_grant',
  'invalid_request',
  'invalid_scope',
  'invalid_target',
  'unauthorized_client',
  'unsupported_grant_type',
]);

/** No token was got. */
const NONE: readonly string[] = [];

interface Kept {
  readonly token: Promise<string>;
  expiresAtMs: number;
  /** The token, once it is known, and before it the one that it replaces. */
  sent: readonly string[];
}

/**
 * Tokens for one server: that of the service (client credentials), or one for each caller in exchange for its own (RFC 8693). A token is kept
 * until it expires or is refused.
 */
export class OAuthTokens {
  /** By the hash of the caller's token, the oldest first. */
  private readonly kept = new RecentMap<Kept>(MOST_TOKENS);

  constructor(
    private readonly entry: OAuthEntry,
    private readonly fetch: Fetch,
    private readonly clock: Clock,
  ) {}

  /** Whether a caller must bring a token. */
  get needsCaller(): boolean {
    return this.entry.grant === 'token_exchange';
  }

  /**
   * A token for the server. Rejects with McpFailure.
   *
   * @param callerToken what is exchanged; null for the service itself
   */
  async get(callerToken: string | null): Promise<string> {
    const key = keyOf(callerToken);
    const known = this.kept.use(key);
    if (known !== undefined && this.clock.now() < known.expiresAtMs) return known.token;
    const asked = this.ask(callerToken);
    const kept: Kept = {
      token: asked.then(({ token }) => token),
      expiresAtMs: Infinity,
      sent: known?.sent ?? NONE,
    };
    // Callers that wait for the token get the error.
    kept.token.catch(() => undefined);
    this.kept.set(key, kept);
    try {
      const { token, expiresAtMs } = await asked;
      kept.expiresAtMs = expiresAtMs;
      kept.sent = [...kept.sent.slice(-1), token];
      return token;
    } catch (error) {
      kept.expiresAtMs = -Infinity;
      throw error;
    }
  }

  /** The latest tokens of a caller: its server may repeat them. The same list until there is another token. */
  sent(callerToken: string | null): readonly string[] {
    return this.kept.get(keyOf(callerToken))?.sent ?? NONE;
  }

  /** A server has refused a token: the next one is asked for anew, unless another request has got it meanwhile. */
  refused(callerToken: string | null, token: string | null): void {
    const kept = this.kept.get(keyOf(callerToken));
    if (kept?.sent.at(-1) === token && kept.expiresAtMs !== Infinity) kept.expiresAtMs = -Infinity;
  }

  private async ask(callerToken: string | null): Promise<{ readonly token: string; readonly expiresAtMs: number }> {
    const { token_url: url, client_id: id, client_secret: secret, scope, audience, resource } = this.entry;
    const askedAtMs = this.clock.now();
    const form = new URLSearchParams({ ...grantOf(callerToken), ...defined({ scope, audience, resource }) });
    const basic = Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64');
    const late = new AbortController();
    const timer = this.clock.schedule(TOKEN_LIMIT_MS, () => late.abort());
    try {
      const answer = await this.fetch(url, {
        method: 'POST',
        headers: {
          authorization: `Basic ${basic}`,
          accept: 'application/json',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: form.toString(),
        signal: late.signal,
      });
      const body = (await answer.json().catch(() => null)) as Partial<Record<string, unknown>> | null;
      const { access_token: token, token_type: type, expires_in: lifetime, error } = body ?? {};
      if (!answer.ok || typeof token !== 'string') {
        const code = ERROR_CODES.has(error) ? `, ${String(error)}` : '';
        throw new McpFailure('credentials', `The authorization server gave no token (HTTP ${answer.status}${code}).`);
      }
      if (!TOKEN.test(token) || !isBearer(type)) {
        throw new McpFailure('credentials', 'The authorization server gave a token that is no Bearer token.');
      }
      const lifetimeMs = toMs(lifetime);
      return { token, expiresAtMs: askedAtMs + lifetimeMs - Math.min(EARLY_MS, lifetimeMs / 2) };
    } catch (error) {
      if (error instanceof McpFailure) throw error;
      throw new McpFailure('credentials', 'The authorization server did not answer.', undefined, { cause: error });
    } finally {
      timer.cancel();
    }
  }
}

/** Whether a token can be sent as `Bearer`. Those of an exchange may be of a type of their own (RFC 8693, section 2.2.1). */
function isBearer(type: unknown): boolean {
  return type == null || (typeof type === 'string' && /^(?:bearer|n_a)$/i.test(type));
}

/** The lifetime of a token, in ms. Some authorization servers write the number as a string. */
function toMs(seconds: unknown): number {
  const isKnown = typeof seconds === 'number' || (typeof seconds === 'string' && /^\d+$/.test(seconds));
  return isKnown ? Math.min(Math.max(0, Number(seconds) * 1000), Number.MAX_SAFE_INTEGER) : UNKNOWN_LIFETIME_MS;
}

function grantOf(callerToken: string | null): Readonly<Record<string, string>> {
  if (callerToken === null) return { grant_type: 'client_credentials' };
  return {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: callerToken,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  };
}

function keyOf(callerToken: string | null): string {
  return callerToken === null ? '' : hash('sha256', callerToken, 'base64');
}

function defined(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
}
