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
  Res,
  UseGuards,
} from '@nestjs/common';
import { IsIn, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import type { FastifyReply } from 'fastify';

import { ApiKeyGuard, type Caller, CurrentCaller } from '../access/index.js';
import { firstLineOf, requireSchema, SchemaError } from '../config/index.js';
import { answerAsPage, KnownQuery, wantsPage } from '../http/index.js';
import { ApiError } from '../protocol/index.js';
import { type Query, queryCheckOf, toNumber } from '../validation/index.js';
import { FAULT_KINDS, type FaultKind } from './names.js';
import { JOURNAL_PAGE_POLICY, JOURNAL_STATUSES, journalPage } from './journal-page.js';
import { requireNamedScript } from './script/read-script.js';
import {
  faultSchema,
  type JournalEntry,
  type Space,
  SPACE_HEADER,
  type SpaceFault,
  type SpaceScript,
  Spaces,
} from './spaces/index.js';
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

/** A fault that waits for the next turns: as it was posted, with the turns that it still hits. */
export type ListedFault = { readonly object: 'simulator.fault'; readonly turns: number } & FaultBody;

interface FaultBody {
  readonly kind: FaultKind;
  readonly turns?: number;
  readonly after?: number;
  readonly for?: number;
  readonly retry_after?: number;
}

const FAULT_SCHEMA = faultSchema('after', 'for', 'retry_after');

const DEFAULT_PAGE = 100;

/** The query of `GET /simulator/requests`. */
class JournalParameters {
  @IsInt()
  @Min(0)
  readonly after!: number;

  @IsInt()
  @Min(1)
  @Max(1000)
  readonly limit!: number;

  @IsOptional()
  @IsString()
  readonly model?: string;

  @IsOptional()
  @IsIn(JOURNAL_STATUSES)
  readonly status?: JournalEntry['status'];

  @IsOptional()
  @IsString()
  readonly space?: string;
}

/** The query of `DELETE /simulator/faults`. */
class FaultsParameters {
  @IsOptional()
  @IsIn(FAULT_KINDS)
  readonly kind?: FaultKind;
}

const checkJournal = queryCheckOf(JournalParameters);
const checkFaults = queryCheckOf(FaultsParameters);

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
   * space in a header, gets a page of the latest.
   */
  @Get('requests')
  requests(
    @CurrentCaller() caller: Caller,
    @Headers() headers: Parameters,
    @KnownQuery(JournalParameters) query: Query,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): JournalPage | string {
    const isPage = wantsPage(textOf(headers['accept']), reply);
    const { after, limit, model = '', status = '', space = textOf(headers[SPACE_HEADER]) } = readJournalQuery(query);
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
    return { object: 'list', data: faults.map(toListedFault) };
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
    } = await checkBody(async () => requireSchema<FaultBody>(body, FAULT_SCHEMA, { whole: 'it' }));
    const fault = {
      kind,
      turns,
      ...(after === undefined ? {} : { after }),
      ...(forMs === undefined ? {} : { forMs }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    };
    this.spaceOf(caller, headers).addFault(fault);
    return toListedFault(fault);
  }

  /** Removes the faults that wait, or those of a kind. Throws ApiError 400 for one that does not exist. */
  @Delete('faults')
  clearFaults(
    @CurrentCaller() caller: Caller,
    @Headers() headers: Parameters,
    @KnownQuery(FaultsParameters) query: Query,
  ): { readonly deleted: true } {
    const { kind } = checkFaults(query);
    this.spaceOf(caller, headers).clearFaults(kind);
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

function toListedFault({ kind, turns, after, forMs, retryAfterSeconds }: SpaceFault): ListedFault {
  return {
    ...{ object: 'simulator.fault', kind, turns },
    ...(after === undefined ? {} : { after }),
    ...(forMs === undefined ? {} : { for: forMs }),
    ...(retryAfterSeconds === undefined ? {} : { retry_after: retryAfterSeconds }),
  };
}

/** Throws ApiError 400 with the place of a violation. */
export async function checkBody<T>(check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    const [{ path } = { path: [] }] = error instanceof SchemaError ? error.violations : [];
    const param = path.join('.').replaceAll(/(?:^|\.)(\d+)(?=\.|$)/g, '[$1]');
    throw ApiError.of('invalid_value', `Invalid body: ${firstLineOf(error)}.`, { param: param === '' ? null : param });
  }
}

/** A header or a parameter; empty without one. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Reads the query of the journal. An empty parameter is as none: forms send them. Throws ApiError 400 for the first violation. */
function readJournalQuery(query: Query): JournalParameters {
  const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
  const { after = 0, limit = DEFAULT_PAGE } = given;
  return checkJournal({ ...given, after: toNumber(after), limit: toNumber(limit) });
}
