import { objectSchema } from '../../config/index.js';
import type { ProviderEntry, ProviderKind } from '../provider-kind.js';
import { TOLERATED_RULES } from '../model-provider.js';
import { flag, oneOf, text, tokens } from './schema-parts.js';

/** The content of PROVIDERS_FILE (docs/providers.md). */
export interface ProvidersFile {
  readonly providers?: Readonly<Record<string, ProviderEntry>>;
  readonly models?: readonly ModelEntry[];
  /** Requests to upstreams for one turn, over all upstreams and their retries. */
  readonly attempts?: number;
}

/** Routes model names. Exactly one of `name`, `prefix`, `glob` and `default`. */
export interface ModelEntry {
  readonly name?: string;
  readonly prefix?: string;
  readonly glob?: string;
  readonly default?: true;
  /** The `name` of another entry. */
  readonly alias?: string;
  /** Whether the upstream name omits the prefix. */
  readonly strip?: boolean;
  readonly provider?: string;
  readonly model?: string;
  readonly upstreams?: readonly UpstreamEntry[];
  /** Tokens. */
  readonly context_window?: number;
  /** Tokens. */
  readonly max_output_tokens?: number;
  readonly reasoning_efforts?: readonly string[];
  readonly owned_by?: string;
}

/** One of several upstreams that serve the same names. */
export interface UpstreamEntry {
  readonly provider: string;
  /** Upstream name of the model. Default: the requested name. */
  readonly model?: string;
  /** Relative share of turns. */
  readonly weight?: number;
}

const upstream = objectSchema(
  { provider: text, model: text, weight: { type: 'number', exclusiveMinimum: 0, maximum: 1e6 } },
  { required: ['provider'] },
);

const perMillion = { type: 'number', minimum: 0, maximum: 1e9 };
const price = objectSchema(
  { input: perMillion, cached_input: perMillion, output: perMillion },
  { required: ['input', 'output'] },
);

/** Members of an entry of any kind. */
const COMMON_MEMBERS = {
  retries: { type: 'integer', minimum: 0, maximum: 100 },
  discover: flag,
  tolerates: { type: 'array', items: oneOf(...TOLERATED_RULES), uniqueItems: true },
  prices: { type: 'object', propertyNames: { minLength: 1, maxLength: 256 }, additionalProperties: price },
};

const MATCHES = ['name', 'prefix', 'glob', 'default'];
const TARGETS = ['alias', 'provider', 'upstreams'];

const model = objectSchema(
  {
    name: text,
    prefix: text,
    glob: { ...text, maxLength: 256 },
    default: { enum: [true] },
    alias: text,
    strip: flag,
    provider: text,
    model: text,
    upstreams: { type: 'array', items: upstream, minItems: 1 },
    context_window: tokens,
    max_output_tokens: tokens,
    reasoning_efforts: {
      type: 'array',
      items: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
      uniqueItems: true,
    },
    owned_by: text,
  },
  {
    allOf: [exactlyOne(MATCHES), exactlyOne(TARGETS)],
    dependentRequired: { strip: ['prefix'], model: ['provider'], alias: ['name'] },
  },
);

/** Default of `kind`. */
export const DEFAULT_KIND = 'chat-completions';

/**
 * The JSON Schema of a file, in which each entry has the members of its kind. Entries of an unknown kind are checked against the
 * default kind, so that the violation lists the valid kinds.
 */
export function providersSchema(file: unknown, kinds: ReadonlyMap<string, ProviderKind>): object {
  const entries = Object.entries(membersOf(membersOf(file)['providers']));
  const names = [...kinds.keys()];
  const toSchema = (entry: unknown): object => {
    const { kind = DEFAULT_KIND } = membersOf(entry);
    const { members = {}, required = [] } = kinds.get(String(kind)) ?? kinds.get(DEFAULT_KIND) ?? {};
    return objectSchema({ ...COMMON_MEMBERS, kind: oneOf(...names), ...members }, { required });
  };
  return objectSchema({
    providers: {
      type: 'object',
      properties: Object.fromEntries(entries.map(([name, entry]) => [name, toSchema(entry)])),
      propertyNames: { pattern: '^[a-z0-9][a-z0-9_-]*$', description: 'must be named in a-z, 0-9, - and _' },
    },
    models: { type: 'array', items: model },
    attempts: { type: 'integer', minimum: 1, maximum: 1000 },
  });
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function exactlyOne(names: readonly string[]): object {
  return {
    oneOf: names.map((name) => ({ required: [name] })),
    description: `must have exactly one of ${names.join(', ')}`,
  };
}
