import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

import { operationOf } from './api-description/index.js';
import {
  type CheckOptions,
  type DecoratedClass,
  isNearMiss,
  membersOf,
  type Query,
  refuseUnknown,
} from '../validation/index.js';
import { UnknownFields } from './unknown-fields.js';

/** What the SDKs of Azure and of Anthropic's beta add to every request. */
const OF_SDKS: ReadonlySet<string> = new Set(['api-version', 'beta']);

interface AskedQuery {
  readonly query: Query;
  /** The class by which the query is validated. */
  readonly of: DecoratedClass;
}

/** By class: what was ignored is remembered by the set. */
const members = new Map<DecoratedClass, ReadonlySet<string>>();

/** Refuses what a query has beyond the members of its class, as UNKNOWN_PARAMETERS says. Throws ApiError 400. */
export function refuseUnknownQuery(query: Query, of: DecoratedClass, options: CheckOptions): void {
  const known = members.get(of) ?? membersOf(of);
  members.set(of, known);
  const asked = Object.fromEntries(Object.keys(query).map((name) => [memberOf(name, known), true]));
  const violation = refuseUnknown(asked, known, options, OF_SDKS);
  if (violation !== null) throw violation.toError();
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
