import {
  Body,
  type CanActivate,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Injectable,
  NotFoundException,
  Param,
  Post,
  Query,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../access/index.js';
import { firstLineOf, requireSchema } from '../config/index.js';
import { answerAsPage, wantsPage } from '../http/index.js';
import { ApiError } from '../protocol/index.js';
import { FAULT_KINDS, type FaultKind } from './fault-kinds.js';
import { JOURNAL_PAGE_POLICY, journalPage } from './journal-page.js';
import { requireNamedScript } from './script/read-script.js';
import { type JournalEntry, type Space, SPACE_HEADER, type SpaceScript, Spaces } from './spaces/index.js';
import { isControlOpen, SimulatorVariables } from './simulator-variables.js';

type Parameters = Readonly<Record<string, unknown>>;

/** Returns 404 without SIMULATOR_CONTROL=true, and always in production. */
@Injectable()
export class ControlSwitch implements CanActivate {
  constructor(private readonly variables: SimulatorVariables) {}

  canActivate(): boolean {
    if (isControlOpen(this.variables)) return true;
    throw new NotFoundException();
  }
}

/** A list, as the API has them. */
export interface List<T> {
  readonly object: 'list';
  readonly data: readonly T[];
}

/** A page of the journal. */
export interface JournalPage extends List<JournalEntry> {
  /** Whether the journal has later requests that match. */
  readonly has_more: boolean;
}

/** A script of a space. */
export interface ListedScript {
  readonly object: 'simulator.script';
  readonly model: string;
  readonly match: string;
  readonly turns: number;
}

/** A fault that waits for the next turns. */
export interface ListedFault {
  readonly object: 'simulator.fault';
  readonly kind: FaultKind;
  /** How many turns it still hits. */
  readonly turns: number;
}

interface FaultBody {
  readonly kind: FaultKind;
  readonly turns?: number;
  readonly after?: number;
  readonly for?: number;
  readonly retry_after?: number;
}

const whole = { type: 'integer', minimum: 0, maximum: 1e9 };

const FAULT_SCHEMA = {
  type: 'object',
  properties: {
    kind: { enum: FAULT_KINDS },
    turns: { ...whole, minimum: 1 },
    after: whole,
    for: whole,
    retry_after: whole,
  },
  required: ['kind'],
  additionalProperties: false,
};

const LONGEST_PAGE = 1000;
const DEFAULT_PAGE = 100;

/**
 * `/simulator`: what a space of the caller's tenant was asked, and what it answers next. Without the header `x-simulator-space` it is the
 * space of requests without it. Everything is of this process.
 */
@Controller('simulator')
@UseGuards(ControlSwitch, ApiKeyGuard)
export class SimulatorControlController {
  constructor(private readonly spaces: Spaces) {}

  /**
   * The create requests with their answers, oldest first: those after a number, of a model, with a status. A browser, which cannot name a
   * space in a header, gets a page of the latest. An empty parameter is as none: forms send them.
   */
  @Get('requests')
  requests(
    @CurrentCaller() caller: Caller,
    @Headers() headers: Parameters,
    @Query() query: Parameters,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): JournalPage | string {
    const isPage = wantsPage(textOf(headers['accept']), reply);
    const after = readWhole(query, 'after', 0);
    const limit = Math.min(readWhole(query, 'limit', DEFAULT_PAGE), LONGEST_PAGE);
    const [model, status] = [textOf(query['model']), textOf(query['status'])];
    const space = textOf(query['space']) || textOf(headers[SPACE_HEADER]);
    const found = this.spaces.of(caller.tenant, space).journal.entries.filter((entry) => {
      if (entry.number <= after) return false;
      return (model === '' || entry.model === model) && (status === '' || entry.status === status);
    });
    if (isPage) {
      answerAsPage(reply, ...JOURNAL_PAGE_POLICY);
      // What was asked may be secret, and a page that is looked at again is to be up to date.
      void reply.header('cache-control', 'no-store');
      return journalPage(found, { space, model, status, limit });
    }
    const data = found.slice(0, limit);
    return { object: 'list', data, has_more: data.length < found.length };
  }

  /** The scripts, in the order in which they are asked. */
  @Get('scripts')
  scripts(@CurrentCaller() caller: Caller, @Headers() headers: Parameters): List<ListedScript> {
    return { object: 'list', data: this.spaceOf(caller, headers).scripts.map(toListed) };
  }

  /** Adds a script, in place of the one of the same model. Throws ApiError 400 if it is not valid. */
  @Post('scripts')
  @HttpCode(200)
  async addScript(
    @CurrentCaller() caller: Caller,
    @Headers() headers: Parameters,
    @Body() body: unknown,
  ): Promise<ListedScript> {
    const script = { file: await checkBody(() => requireNamedScript(body)) };
    this.spaceOf(caller, headers).add(script);
    return toListed(script);
  }

  /** Removes the script of a model. Throws ApiError 404. */
  @Delete('scripts/:model')
  removeScript(
    @CurrentCaller() caller: Caller,
    @Headers() headers: Parameters,
    @Param('model') model: string,
  ): { readonly model: string; readonly deleted: true } {
    if (this.spaceOf(caller, headers).remove(model)) return { model, deleted: true };
    throw new ApiError(404, 'invalid_request_error', null, null, `No script has the model '${model}'.`);
  }

  /** The faults that wait. */
  @Get('faults')
  faults(@CurrentCaller() caller: Caller, @Headers() headers: Parameters): List<ListedFault> {
    const { faults } = this.spaceOf(caller, headers);
    return { object: 'list', data: faults.map(({ kind, turns }) => ({ object: 'simulator.fault', kind, turns })) };
  }

  /** Has the next turns fail. Throws ApiError 400 if the body is not valid. */
  @Post('faults')
  @HttpCode(200)
  async addFault(
    @CurrentCaller() caller: Caller,
    @Headers() headers: Parameters,
    @Body() body: unknown,
  ): Promise<ListedFault> {
    const {
      kind,
      turns = 1,
      after,
      for: forMs,
      retry_after: retryAfterSeconds,
    } = await checkBody(async () => requireSchema<FaultBody>(body, FAULT_SCHEMA));
    this.spaceOf(caller, headers).addFault({
      kind,
      turns,
      ...(after === undefined ? {} : { after }),
      ...(forMs === undefined ? {} : { forMs }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    });
    return { object: 'simulator.fault', kind, turns };
  }

  /** Removes the faults that wait, or those of a kind. Throws ApiError 400 for one that does not exist. */
  @Delete('faults')
  clearFaults(
    @CurrentCaller() caller: Caller,
    @Headers() headers: Parameters,
    @Query('kind') kind: unknown,
  ): { readonly deleted: true } {
    this.spaceOf(caller, headers).clearFaults(readKind(kind));
    return { deleted: true };
  }

  /** The space is as it was at the start: its scripts from their first turns, no faults, an empty journal. */
  @Post('reset')
  @HttpCode(200)
  reset(@CurrentCaller() caller: Caller, @Headers() headers: Parameters): { readonly object: 'simulator.reset' } {
    this.spaceOf(caller, headers).reset();
    return { object: 'simulator.reset' };
  }

  private spaceOf({ tenant }: Caller, headers: Parameters): Space {
    return this.spaces.of(tenant, textOf(headers[SPACE_HEADER]));
  }
}

function toListed({ file: { model, match = 'order', turns } }: SpaceScript): ListedScript {
  return { object: 'simulator.script', model, match, turns: turns.length };
}

/** Throws ApiError 400 with the place of a violation. */
export async function checkBody<T>(check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    throw ApiError.of('invalid_value', `Invalid body: ${firstLineOf(error)}.`);
  }
}

/** A header or a parameter; empty without one. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A kind of faults in a query; undefined without one. Throws ApiError 400. */
function readKind(value: unknown): FaultKind | undefined {
  if (value === undefined) return undefined;
  const kind = FAULT_KINDS.find((known) => known === value);
  if (kind !== undefined) return kind;
  throw ApiError.of('invalid_value', `Invalid 'kind': expected one of ${FAULT_KINDS.join(', ')}.`, { param: 'kind' });
}

/** A whole number of a query. Throws ApiError 400. */
function readWhole(query: Parameters, param: string, otherwise: number): number {
  const value = query[param];
  if (value === undefined || value === '') return otherwise;
  if (typeof value === 'string' && /^\d{1,9}$/.test(value)) return Number(value);
  throw ApiError.of('invalid_value', `Invalid '${param}': expected a whole number.`, { param });
}
