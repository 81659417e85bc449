import { hash } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type BlockList, isIP, type Socket } from 'node:net';

import { Injectable, Logger } from '@nestjs/common';

import { Environment, toBlockList } from '../config/index.js';
import { ApiError } from '../protocol/index.js';
import { Clock, isPromise, type MaybePromise } from '../time/index.js';
import { authenticate } from './authenticate.js';
import { Authenticator, bearerOf } from './authenticator.js';
import type { Grant } from './grant.js';

const WINDOW_MS = 60_000;

/** Addresses with wrong credentials that are remembered; beyond it the oldest is forgotten. */
const MOST_ADDRESSES = 10_000;

/** Accepted credentials that are remembered of each minute; further ones are held up like unknown ones. */
const MOST_ACCEPTED = 10_000;

/** An address that has sent a wrong credential. */
interface Suspect {
  failures: number;
  readonly resetsAt: number;
}

/** A credential that is among `latest`. */
interface Noted {
  readonly latest: ReadonlySet<string>;
  readonly address: string;
  readonly bearer: string;
}

/**
 * Checks the credentials of requests and upgrades with the Authenticator. An address that sends AUTH_FAILURES_PER_MINUTE wrong ones gets
 * 429 for all that were not accepted from there in the minute before, so that guessing costs the guesser a minute, and the service no look-up.
 */
@Injectable()
export class Credentials {
  private readonly logger = new Logger('Access');
  private readonly proxies: BlockList;
  private readonly suspects = new Map<string, Suspect>();
  private readonly most: number;
  private hasWarned = false;
  /** Addresses with digests of the credentials that were accepted from there, of this minute and of the one before. */
  private accepted: { readonly latest: Set<string>; readonly before: ReadonlySet<string>; readonly endsAt: number };
  /** What connections have sent last that was accepted: mostly they send it again, and a digest costs a hundredth of a turn. */
  private readonly noted = new WeakMap<Socket, Noted>();
  /** Where connections come from. */
  private readonly peers = new WeakMap<Socket, string>();

  constructor(
    private readonly authenticator: Authenticator,
    private readonly clock: Clock,
    environment: Environment,
  ) {
    this.proxies = toBlockList(environment.TRUSTED_PROXIES);
    this.most = environment.AUTH_FAILURES_PER_MINUTE || Infinity;
    this.accepted = { latest: new Set(), before: new Set(), endsAt: clock.now() + WINDOW_MS };
  }

  /** Whom the credential of a request belongs to. Throws the errors of Authenticator, and ApiError 429. */
  check(request: IncomingMessage): MaybePromise<Grant> {
    const address = this.most === Infinity ? '' : this.addressOf(request);
    const suspect = this.suspectAt(address);
    if (suspect !== undefined && suspect.failures >= this.most) this.refuseUnknown(suspect, address, request.headers);
    try {
      const grant = authenticate(this.authenticator, request.headers);
      if (!isPromise(grant)) return this.accept(grant, address, request);
      return grant.then(
        (later) => this.accept(later, address, request),
        (error: unknown) => this.fail(error, address),
      );
    } catch (error) {
      return this.fail(error, address);
    }
  }

  private addressOf(request: IncomingMessage): string {
    const peer = this.peerOf(request.socket);
    if (!this.hasWarned && request.headers['x-forwarded-for'] !== undefined && !isTrusted(peer, this.proxies)) {
      this.hasWarned = true;
      this.logger.warn(
        `x-forwarded-for comes from ${peer}, which is not in TRUSTED_PROXIES: it is ignored, and all who come from there count as one client`,
      );
    }
    const { address, unread } = clientAddress(request, peer, this.proxies);
    if (unread !== undefined && !this.hasWarned) {
      this.hasWarned = true;
      this.logger.warn(
        `x-forwarded-for from ${peer} has '${unread.slice(0, 64)}' where an address should be: those whose address is not read count as one client`,
      );
    }
    return address;
  }

  private peerOf(socket: Socket): string {
    let peer = this.peers.get(socket);
    if (peer === undefined) this.peers.set(socket, (peer = plain(socket.remoteAddress ?? '')));
    return peer;
  }

  private suspectAt(address: string): Suspect | undefined {
    const suspect = this.suspects.get(address);
    if (suspect === undefined || suspect.resetsAt > this.clock.now()) return suspect;
    this.suspects.delete(address);
    return undefined;
  }

  private refuseUnknown({ resetsAt }: Suspect, address: string, headers: IncomingHttpHeaders): void {
    const { latest, before } = this.acceptedNow();
    const credential = toText(address, bearerOf(headers));
    if (latest.has(credential) || before.has(credential)) return;
    const seconds = Math.ceil((resetsAt - this.clock.now()) / 1000);
    throw ApiError.of(
      'rate_limit_exceeded',
      `Too many wrong API keys were sent from your address. Please try again in ${seconds}s.`,
      { headers: { 'retry-after': String(seconds) } },
    );
  }

  /** What was accepted, where a minute that is over counts as the one before. */
  private acceptedNow(): typeof this.accepted {
    const { latest, endsAt } = this.accepted;
    const late = this.clock.now() - endsAt;
    if (late < 0) return this.accepted;
    const before = late < WINDOW_MS ? latest : new Set<string>();
    return (this.accepted = { latest: new Set(), before, endsAt: this.clock.now() + WINDOW_MS });
  }

  private accept(grant: Grant, address: string, { socket, headers }: IncomingMessage): Grant {
    if (address === '') return grant;
    const { latest } = this.acceptedNow();
    const bearer = bearerOf(headers);
    const known = this.noted.get(socket);
    if (known?.latest === latest && known.bearer === bearer && known.address === address) return grant;
    if (latest.size < MOST_ACCEPTED) latest.add(toText(address, bearer));
    this.noted.set(socket, { latest, address, bearer });
    return grant;
  }

  private fail(error: unknown, address: string): never {
    if (address !== '' && error instanceof ApiError && error.code === 'invalid_api_key') this.count(address);
    throw error;
  }

  private count(address: string): void {
    let suspect = this.suspectAt(address);
    if (suspect === undefined) {
      const [oldest] = this.suspects.keys();
      if (oldest !== undefined && this.suspects.size >= MOST_ADDRESSES) this.suspects.delete(oldest);
      suspect = { failures: 0, resetsAt: this.clock.now() + WINDOW_MS };
      this.suspects.set(address, suspect);
    }
    suspect.failures += 1;
    if (suspect.failures !== this.most) return;
    this.logger.warn(`${address} has sent ${this.most} wrong credentials within a minute: unknown ones are refused`);
  }
}

/** An address and a credential, of which nothing can be read. */
function toText(address: string, bearer: string): string {
  return `${address} ${hash('sha256', bearer, 'base64')}`;
}

/**
 * The address of a client: that of its connection, `peer`, or, behind trusted proxies, the last one that is none of theirs. `unread`: what a
 * trusted proxy says instead of one.
 */
function clientAddress(
  { headers }: IncomingMessage,
  peer: string,
  proxies: BlockList,
): { readonly address: string; readonly unread?: string } {
  let address = peer;
  const forwarded = headers['x-forwarded-for'];
  if (forwarded === undefined || !isTrusted(address, proxies)) return { address };
  for (const hop of String(forwarded).split(',').reverse()) {
    const before = plain(hop.trim());
    if (isIP(before) === 0) return { address, unread: before };
    address = before;
    if (!isTrusted(before, proxies)) break;
  }
  return { address };
}

function isTrusted(address: string, proxies: BlockList): boolean {
  const family = isIP(address);
  return family !== 0 && proxies.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** An address without the port and the brackets that some proxies write, such as Azure's; an IPv4 address in the form of IPv6 as IPv4. */
function plain(address: string): string {
  const [, inBrackets, beforePort] = /^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(address) ?? [];
  return (inBrackets ?? beforePort ?? address).replace(/^::ffff:(?=\d+\.)/i, '');
}
