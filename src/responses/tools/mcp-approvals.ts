import { createHmac, createSecretKey, KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';

import { Inject, Injectable, Optional } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { McpObserver } from '../../tools/mcp/index.js';
import { ApiError, approvalTimeOf, isCompaction, type Item } from '../../protocol/index.js';
import { isModelItem } from '../../providers/transcripts/index.js';
import { claimOfApproval, Claims, SecretStore } from '../../state/index.js';
import { Clock, type MaybePromise } from '../../time/index.js';

/** A call that waits for an approval. */
export interface AskedCall {
  readonly tenant: Tenant;
  /** The identity of its server. */
  readonly server: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** A list of tools, as one tenant may use them. */
export interface ListOfTools {
  readonly tenant: Tenant;
  /** The identity of the server. */
  readonly server: string;
  /** What the request allows of them: another request may allow others. */
  readonly allowed: unknown;
  readonly tools: unknown;
}

/** The name of the key in the state. */
const SECRET_NAME = 'mcp-approvals';
const KEY_BYTES = 32;

/** The parts of an id behind its prefix, in hex characters: when it was made (ms), random ones, and the code that binds it to its call. */
const TIME = 12;
const NONCE = 8;
const CODE = 32;
const ID = new RegExp(`^mcp[lr]_(?<time>[0-9a-f]{${TIME}})(?<nonce>[0-9a-f]{${NONCE}})(?<code>[0-9a-f]{${CODE}})$`);

/** The ids of requests that a client has answered. */
export interface AnsweredRequests {
  readonly approved: readonly string[];
  readonly refused: readonly string[];
}

const REQUEST = 'mcpr';
const LIST = 'mcpl';

/**
 * Approvals of calls of MCP servers, and the lists of tools that decide on them. The id of a request authenticates its call, that of a list
 * its tools: a client that keeps its own context can bring them back, but none that was changed or made up. All replicas share the key,
 * and which approvals were used.
 */
@Injectable()
export class McpApprovals {
  /** A KeyObject: Node would make one of a buffer for each code, which takes much longer than the code. */
  private key: MaybePromise<KeyObject> | null = null;
  /** Lists whose codes were right, by their tools: items of a context stay what they are. */
  private readonly verified = new WeakMap<object, VerifiedList>();

  constructor(
    private readonly secrets: SecretStore,
    private readonly claims: Claims,
    private readonly clock: Clock,
    private readonly environment: Environment,
    @Optional() @Inject(McpObserver) private readonly observer: McpObserver | null = null,
  ) {}

  /** Whether an id has the form of those of our requests. */
  static isOwn(id: string): boolean {
    return approvalTimeOf(id) !== undefined;
  }

  /**
   * The answers that a request gives, with their places in its input. Those that the model has gone on after are history, which a client
   * brings back that keeps its context itself.
   */
  static answersIn(input: readonly Item[]): readonly (readonly [index: number, answer: Item])[] {
    const start = input.findLastIndex((item) => isModelItem(item) || isCompaction(item)) + 1;
    return [...input.entries()].slice(start).filter(([, { type }]) => type === 'mcp_approval_response');
  }

  /** The requests of a context by their ids, which no two of its items share. */
  static requestsIn(context: readonly Item[]): ReadonlyMap<string, Item> {
    const requests = context.filter(({ type }) => type === 'mcp_approval_request');
    return new Map(requests.map((request) => [request.id, request]));
  }

  /** Reads the key, which `listedAt` needs. Rejects with StoreUnavailableError. */
  ready(): MaybePromise<unknown> {
    return this.readKey();
  }

  /**
   * A new id for the list of a server's tools. Rejects with StoreUnavailableError.
   *
   * @param askedAt when the server was asked for it (Unix, ms): what it says of changes after that is not in the list
   */
  issueList(list: ListOfTools, askedAt: number): Promise<string> {
    return this.makeId(LIST, toListParts(list), askedAt);
  }

  /** When the service asked for a list, Unix ms; undefined for one that it has not made so, or while the key is not read. */
  listedAt(id: string, list: ListOfTools): number | undefined {
    if (!(this.key instanceof KeyObject)) return undefined;
    const { tools } = list;
    const known = isObjectOrArray(tools) ? this.verified.get(tools) : undefined;
    if (known?.id === id && isSameList(known.list, list)) return known.listedAt;
    const { time = '', nonce = '', code } = ID.exec(id)?.groups ?? {};
    if (code === undefined || !isEqual(code, codeOf(this.key, [LIST, ...toListParts(list)], time, nonce)))
      return undefined;
    const listedAt = Number.parseInt(time, 16);
    if (isObjectOrArray(tools)) this.verified.set(tools, { id, list, listedAt });
    return listedAt;
  }

  /** A new id for a request. Rejects with StoreUnavailableError. */
  async issue(call: AskedCall): Promise<string> {
    const id = await this.makeId(REQUEST, toParts(call), this.clock.now());
    this.observer?.approval('asked');
    return id;
  }

  /**
   * Throws ApiError for a request that was changed or belongs to another tenant or server (400), and for one that is older than
   * MCP_APPROVAL_TTL (404). `param` is the place of the answer. Rejects with StoreUnavailableError.
   */
  async verify({ id }: Item, call: AskedCall, param: string): Promise<void> {
    const { time = '', nonce = '', code = '' } = ID.exec(id)?.groups ?? {};
    const expected = codeOf(await this.readKey(), [REQUEST, ...toParts(call)], time, nonce);
    if (!isEqual(code, expected)) {
      throw ApiError.badRequest(
        `The approval request '${id}' was changed, or belongs to another server or client.`,
        param,
      );
    }
    if (this.expiryOf(time) > this.clock.now()) return;
    throw new ApiError(404, 'invalid_request_error', null, param, `The approval request '${id}' has expired.`);
  }

  /**
   * Uses answers for a response, each once: all of them, or none. Throws ApiError 400 when another response has used one of them. Rejects
   * with StoreUnavailableError.
   */
  async use({ approved, refused }: AnsweredRequests, tenant: Tenant, responseId: string): Promise<void> {
    const ids = [...refused, ...approved];
    const used: string[] = [];
    try {
      for (const id of ids) {
        const { time = '' } = ID.exec(id)?.groups ?? {};
        const owner = await this.claims.claim(tenant, claimOfApproval(id), responseId, this.expiryOf(time));
        if (owner !== responseId) {
          const message = `The approval request '${id}' was answered before, in the response '${owner}'.`;
          throw ApiError.badRequest(message, 'input');
        }
        used.push(id);
      }
    } catch (error) {
      // No call was sent: the user's other answers still count, in another request.
      await this.giveBack({ approved: used, refused: [] }, tenant, responseId);
      throw error;
    }
    for (const _ of approved) this.observer?.approval('approved');
    for (const _ of refused) this.observer?.approval('refused');
  }

  /** Lets answers count again that a response has used and not acted upon. Rejects with StoreUnavailableError. */
  async giveBack({ approved, refused }: AnsweredRequests, tenant: Tenant, responseId: string): Promise<void> {
    for (const id of [...refused, ...approved]) await this.claims.release(tenant, claimOfApproval(id), responseId);
  }

  private async makeId(prefix: string, parts: readonly unknown[], at: number): Promise<string> {
    const time = at.toString(16).padStart(TIME, '0');
    const nonce = randomBytes(NONCE / 2).toString('hex');
    return `${prefix}_${time}${nonce}${codeOf(await this.readKey(), [prefix, ...parts], time, nonce)}`;
  }

  private expiryOf(time: string): number {
    return Number.parseInt(time, 16) + this.environment.MCP_APPROVAL_TTL * 1000;
  }

  private readKey(): MaybePromise<KeyObject> {
    return (this.key ??= this.secrets
      .getOrCreate(SECRET_NAME, randomBytes(KEY_BYTES).toString('base64'))
      .then((secret) => (this.key = createSecretKey(secret, 'base64')))
      .catch((error: unknown) => {
        // The next request tries again.
        this.key = null;
        throw error;
      }));
  }
}

/** Clients that read items into objects of their own, as the SDK for Python does, give members back in another order, and null for missing ones. */
function toListParts({ tenant, server, allowed, tools }: ListOfTools): readonly unknown[] {
  const given = Array.isArray(tools) ? tools.map((tool: unknown) => sorted(tool, isPresent)) : tools;
  return [tenant, server, sorted(allowed ?? null), given];
}

/** A JSON value with the members of its objects in the order of their names; of its own members only those to be kept. */
function sorted(value: unknown, keeps: (member: unknown) => boolean = () => true): unknown {
  if (Array.isArray(value)) return value.map((element: unknown) => sorted(element));
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => keeps(member));
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  // In a list, since a member may be named `__proto__`; in an object, which no list of a client equals.
  return { members: members.map(([name, member]) => [name, sorted(member)]) };
}

function isPresent(member: unknown): boolean {
  return member !== null;
}

function toParts({ tenant, server, name, arguments: given }: AskedCall): readonly unknown[] {
  return [tenant, server, name, given];
}

function codeOf(key: KeyObject, parts: readonly unknown[], time: string, nonce: string): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([...parts, time, nonce]))
    .digest('hex')
    .slice(0, CODE);
}

interface VerifiedList {
  readonly id: string;
  readonly list: ListOfTools;
  readonly listedAt: number;
}

function isSameList(a: ListOfTools, b: ListOfTools): boolean {
  if (a.tenant !== b.tenant || a.server !== b.server) return false;
  return a.allowed == b.allowed || JSON.stringify(a.allowed ?? null) === JSON.stringify(b.allowed ?? null);
}

function isObjectOrArray(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isEqual(code: string, expected: string): boolean {
  return code.length === expected.length && timingSafeEqual(Buffer.from(code), Buffer.from(expected));
}
