import { hash } from 'node:crypto';

import { Injectable, Logger } from '@nestjs/common';
import type * as Jose from 'jose';

import { Environment, firstLineOf, isSafeUrl } from '../config/index.js';
import { OutageLog } from '../logging/index.js';
import { ApiError } from '../protocol/index.js';
import { RecentMap } from '../recent-map.js';
import { Clock, type MaybePromise } from '../time/index.js';
import { asTenant, type Grant, JWT_KEY_ID, type Scope, SCOPES } from './grant.js';

/** How long the issuer may take to answer, ms. */
const TIMEOUT_MS = 5000;

/** Most bytes that the issuer may answer with: a set of keys has a few thousand. */
const MOST_BYTES = 256 * 1024;

/** An answer that is read up to a bound; a longer one is an error. */
const fetchSmall: Jose.FetchImplementation = async (url, options) => {
  const answer = await fetch(url, options);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new Error(`the issuer answers with more than ${MOST_BYTES} bytes`);
    chunks.push(chunk);
  }
  const { status, headers } = answer;
  return new Response(status === 204 ? null : Buffer.concat(chunks), { status, headers });
};

/** Verified tokens that are remembered; beyond it the one verified longest ago is forgotten. */
const MOST_REMEMBERED = 10_000;

/** Differences of clocks that are tolerated, s. */
const LEEWAY_SECONDS = 5;

const LONGEST_SUBJECT = 128;

/**
 * Verifies JSON Web Tokens of JWT_ISSUER. A verified token is remembered until it expires, so that a turn on a socket verifies no
 * signature.
 */
@Injectable()
export class JwtVerifier {
  private readonly outages = new OutageLog(new Logger('Access'));
  private readonly remembered = new RecentMap<Grant & { readonly expiresAt: number }>(MOST_REMEMBERED);
  private opening: Promise<readonly [typeof Jose, Jose.JWTVerifyGetKey]> | null = null;

  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
  ) {}

  /** Whether a bearer is a JWT that is to be verified. */
  takes(bearer: string): boolean {
    return this.environment.JWT_ISSUER !== '' && /^ey[\w-]+\.[\w-]+\.[\w-]*$/.test(bearer);
  }

  /** What a token permits. Throws ApiError 401 for one that is not valid, and 503 while the keys of the issuer cannot be read. */
  verify(token: string): MaybePromise<Grant> {
    const digest = hash('sha256', token, 'base64');
    const known = this.remembered.get(digest);
    if (known !== undefined && known.expiresAt > this.clock.now()) return known;
    this.remembered.delete(digest);
    return this.check(token, digest);
  }

  private async check(token: string, digest: string): Promise<Grant> {
    const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_ALGORITHMS: algorithms } = this.environment;
    const [jose, keys] = await this.open();
    const now = this.clock.now();
    const rules = { issuer, audience, algorithms: [...algorithms], requiredClaims: ['exp'] };
    const times = { currentDate: new Date(now), clockTolerance: LEEWAY_SECONDS };
    const verified = await jose
      .jwtVerify(token, keys, { ...rules, ...times })
      .catch((error: unknown) => this.refuse(jose, error));
    const grant = this.toGrant(verified.payload);
    this.remembered.set(digest, grant);
    return grant;
  }

  /** Reads where the keys are, once; after a failure the next request tries again. */
  private open(): Promise<readonly [typeof Jose, Jose.JWTVerifyGetKey]> {
    this.opening ??= this.load();
    return this.opening.catch((error: unknown) => {
      this.opening = null;
      return this.fail(error);
    });
  }

  private async load(): Promise<readonly [typeof Jose, Jose.JWTVerifyGetKey]> {
    const jose = await import('jose');
    return [jose, await openKeySet(jose, this.environment)];
  }

  private refuse({ errors }: typeof Jose, error: unknown): never {
    if (error instanceof errors.JWTExpired) throw invalid('The token has expired.');
    if (error instanceof errors.JWTClaimValidationFailed)
      throw invalid(`The claim '${error.claim}' of the token is not valid.`);
    if (error instanceof errors.JWKSNoMatchingKey) throw invalid('No key of the issuer has signed the token.');
    if (error instanceof errors.JOSEAlgNotAllowed)
      throw invalid('The token is signed with an algorithm that is not accepted.');
    const isToken = [
      errors.JWSInvalid,
      errors.JWTInvalid,
      errors.JWSSignatureVerificationFailed,
      errors.JOSENotSupported,
    ];
    if (isToken.some((kind) => error instanceof kind)) throw invalid('The token is not valid.');
    return this.fail(error);
  }

  /** Never a 401: a client would throw away a good token. */
  private fail(error: unknown): never {
    this.outages.warn('the keys of JWT_ISSUER cannot be read', firstLineOf(error));
    throw ApiError.retryLater('The keys of the token issuer cannot be read. Please retry your request.', error);
  }

  private toGrant(payload: Jose.JWTPayload): Grant & { readonly expiresAt: number } {
    const { JWT_TENANT_CLAIM, JWT_SCOPES_CLAIM, JWT_MODELS_CLAIM } = this.environment;
    const tenant = claimOf(payload, JWT_TENANT_CLAIM);
    if (typeof tenant !== 'string' || tenant === '') throw invalid(`The token has no claim '${JWT_TENANT_CLAIM}'.`);
    const subject: unknown = payload.sub;
    if (subject !== undefined && typeof subject !== 'string')
      throw invalid("The claim 'sub' of the token is not a text.");
    const scopes = listOf(claimOf(payload, JWT_SCOPES_CLAIM));
    const models = JWT_MODELS_CLAIM === '' ? undefined : listOf(claimOf(payload, JWT_MODELS_CLAIM));
    return {
      tenant: asTenant(tenant),
      ...(subject === undefined ? {} : { keyId: JWT_KEY_ID + subject.slice(0, LONGEST_SUBJECT) }),
      ...(scopes === undefined ? {} : { scopes: scopes.filter(isScope) }),
      ...(models === undefined ? {} : { models }),
      expiresAt: ((payload.exp ?? 0) + LEEWAY_SECONDS) * 1000,
    };
  }
}

/** A claim by its name, or by a path with dots such as `realm_access.roles`; issuers also use names with dots. */
function claimOf(payload: Jose.JWTPayload, path: string): unknown {
  if (Object.hasOwn(payload, path)) return payload[path];
  return path.split('.').reduce<unknown>((value, name) => {
    return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
      ? Reflect.get(value, name)
      : undefined;
  }, payload);
}

/** A text of words, or an array of them; undefined without the claim. */
function listOf(claim: unknown): readonly string[] | undefined {
  if (claim === undefined || claim === null) return undefined;
  if (typeof claim === 'string') return claim.split(' ').filter((word) => word !== '');
  return Array.isArray(claim) ? claim.filter((word) => typeof word === 'string') : [];
}

function isScope(word: string): word is Scope {
  return (SCOPES as readonly string[]).includes(word);
}

/** Messages never quote the token. */
function invalid(message: string): ApiError {
  const headers = { 'www-authenticate': 'Bearer error="invalid_token"' };
  return new ApiError(401, 'invalid_request_error', 'invalid_api_key', null, message, headers);
}

/**
 * The keys of the issuer: those of JWT_JWKS_URL or, without it, those that the issuer's OpenID configuration names. They are read when they
 * are first needed, kept for ten minutes, and read again for a key that is not among them, at most every 30 seconds. Rejects when the
 * configuration cannot be read.
 */
async function openKeySet(jose: typeof Jose, environment: Environment): Promise<Jose.JWTVerifyGetKey> {
  const url = environment.JWT_JWKS_URL === '' ? await discover(environment.JWT_ISSUER) : environment.JWT_JWKS_URL;
  return jose.createRemoteJWKSet(new URL(requireSafe(url)), {
    timeoutDuration: TIMEOUT_MS,
    [jose.customFetch]: fetchSmall,
  });
}

async function discover(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const answer = await fetchSmall(url, {
    headers: new Headers({ accept: 'application/json' }),
    method: 'GET',
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (answer.status !== 200)
    throw new Error(`the OpenID configuration of the issuer was answered with ${answer.status}`);
  const found = (await answer.json()) as { readonly issuer?: unknown; readonly jwks_uri?: unknown } | null;
  if (found?.issuer !== issuer) throw new Error('the OpenID configuration names another issuer');
  if (typeof found.jwks_uri !== 'string') throw new Error('the OpenID configuration has no jwks_uri');
  return found.jwks_uri;
}

/** Over plain HTTP, whoever is in between could give keys of their own. */
function requireSafe(url: string): string {
  if (isSafeUrl(url)) return url;
  throw new Error('the keys of the issuer are not served over https');
}
