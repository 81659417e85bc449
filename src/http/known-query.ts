import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

import { operationOf } from './api-description/index.js';
import {
  type CheckOptions,
  type DecoratedClass,
  Definitions,
  isNearMiss,
  propertiesOf,
  type Query,
  refuseUnknown,
  unknownMember,
} from '../validation/index.js';
import { UnknownFields } from './unknown-fields.js';

/** What the SDKs of Azure and of Anthropic's beta add to every request. */
const OF_SDKS: ReadonlySet<string> = new Set(['api-version', 'beta']);

interface AskedQuery {
  readonly query: Query;
  /** The class by which the query is validated. */
  readonly of: DecoratedClass;
}

/** The members of a class. */
interface Members {
  /** What was ignored is remembered by this set. */
  readonly known: ReadonlySet<string>;
  /** By name, the type in JSON: only arrays and objects have brackets. */
  readonly types: ReadonlyMap<string, unknown>;
}

const members = new Map<DecoratedClass, Members>();

function membersIn(of: DecoratedClass): Members {
  let found = members.get(of);
  if (found === undefined) {
    const types = new Map(propertiesOf(of, new Definitions('')).map(({ name, schema }) => [name, schema.type]));
    members.set(of, (found = { known: new Set(types.keys()), types }));
  }
  return found;
}

/** Refuses what a query has beyond the members of its class, as UNKNOWN_PARAMETERS says. Throws ApiError 400. */
export function refuseUnknownQuery(query: Query, of: DecoratedClass, options: CheckOptions): void {
  const { known, types } = membersIn(of);
  const names = Object.keys(query).map((name) => ({ name, member: memberOf(name, known) }));
  const strange = names.find(({ name, member }) => !isReadable(name, member, types.get(member)));
  // A filter that is not read would list everything.
  if (strange !== undefined && options.unknownParameters !== 'ignore') {
    const { name, member } = strange;
    throw unknownMember(name, [types.get(member) === 'array' ? `${member}[]` : member]).toError();
  }
  const asked = Object.fromEntries(names.map(({ member }) => [member, true]));
  const violation = refuseUnknown(asked, known, options, OF_SDKS);
  if (violation !== null) throw violation.toError();
}

/** Whether a member of this type may be written so: `include[]` is read, and `include[0]` and `limit[]` are not. */
function isReadable(name: string, member: string, type: unknown): boolean {
  if (name === member || type === 'object') return true;
  // A misspelt member has no type, and is refused as such.
  return type === undefined || (type === 'array' && name === `${member}[]`);
}

@Injectable()
class KnownQueryPipe implements PipeTransform<AskedQuery, Query> {
  constructor(private readonly unknownFields: UnknownFields) {}

  transform({ query, of }: AskedQuery): Query {
    refuseUnknownQuery(query, of, this.unknownFields.options());
    return query;
  }
}

const AskedQuery = createParamDecorator((given: DecoratedClass | undefined, context: ExecutionContext): AskedQuery => {
  const { query } = context.switchToHttp().getRequest<FastifyRequest>();
  const of = given ?? operationOf(context.getHandler())?.query;
  if (of === undefined) throw new Error('a route with KnownQuery describes its query');
  return { query: query as Query, of };
});

/**
 * The query of a request, whose values are not validated yet, as a parameter of a controller method. Its members are those of the class in
 * the description of the route, or of `of` where a route has none; UNKNOWN_PARAMETERS says what becomes of others. The module of the
 * controller imports HttpModule.
 */
export function KnownQuery(of?: DecoratedClass): ParameterDecorator {
  return AskedQuery(of as DecoratedClass, KnownQueryPipe);
}

/** `include[]=…` is `include`, `metadata[name]=…` is `metadata`, also misspelt; other names stand for themselves. */
function memberOf(name: string, known: ReadonlySet<string>): string {
  if (known.has(name) || !name.endsWith(']')) return name;
  const [member = name] = name.split('[', 1);
  return known.has(member) || isNearMiss(member, known) ? member : name;
}
