import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

import { didYouMean, isNearMiss } from '../validation/index.js';

/** `${NAME}` in a file stands for a variable, and `$$` for a dollar sign. */
export const REFERENCE = /\$\$|\$\{(?<name>[A-Za-z_]\w*)\}/g;

/** What an operator may write before a name. */
const OWN_NAME = 'ANTIPHON_';

/** Beginnings of names that no other program has. */
const OWN_PREFIXES = ['BACKGROUND_', 'SIMULATOR_', 'WS_'];

/** Variables of Node, its libraries and the system, which a `.env` may have for them. */
const FOREIGN =
  /^(?:NODE|NPM|OTEL|PG|SSL|UV|MALLOC|AWS|ANTIPHON)_?|^(?:HOME|LANG|LC_\w+|PATH|TMPDIR|TZ|USER)$|^(?:HTTPS?|NO|ALL)_PROXY$/i;

/** Variables of OpenTelemetry that the service does not follow: the values that ask for what it does anyway, and what that is. */
const FIXED: readonly (readonly [names: RegExp, values: RegExp, what: string])[] = [
  [/^OTEL_EXPORTER_OTLP_(?:(?:TRACES|METRICS)_)?PROTOCOL$/, /^http\/protobuf$/, 'the protocol is http/protobuf'],
  [/^OTEL_TRACES_SAMPLER$/, /^parentbased_traceidratio$/, 'the sampler is parentbased_traceidratio'],
  [/^OTEL_TRACES_EXPORTER$/, /^otlp$/, 'traces are sent where their endpoint is set'],
  [/^OTEL_SDK_DISABLED$/, /^(?!true$)/i, 'traces are sent where their endpoint is set'],
  [/^OTEL_PROPAGATORS$/, /\btracecontext\b/, 'traces are passed on as traceparent'],
  [/^OTEL_LOGS_EXPORTER$/, /^none$/, 'the log goes to stdout and stderr'],
  [/^OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE$/, /^cumulative$/i, 'metrics are cumulative'],
  [/^OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION$/, /^explicit_/i, 'histograms have fixed buckets'],
  [/^OTEL_METRIC_EXPORT_TIMEOUT$/, /^$/, 'OTEL_EXPORTER_OTLP_METRICS_TIMEOUT is how long an export may take'],
];

/** Where the variables come from. */
export interface VariablePlaces {
  /** The variables of the process. */
  readonly process: Readonly<Record<string, string | undefined>>;
  /** The names in `.env`. */
  readonly inFile: ReadonlySet<string>;
}

/** The names in the `.env` of the working directory. */
export function namesInFile(): ReadonlySet<string> {
  // Node takes a byte order mark for a part of the first name; what loads the file does not.
  return new Set(Object.keys(parseEnv(readIfThere('.env').replace(/^\uFEFF/, ''))));
}

/** The variables that a file refers to as `${NAME}`. */
export function namesReferredTo(path: string): readonly string[] {
  return [...readIfThere(path).matchAll(REFERENCE)].flatMap(({ groups }) => groups?.name ?? []);
}

/** Whoever needs the file reports that it cannot be read. */
function readIfThere(path: string): string {
  try {
    return path === '' ? '' : readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/**
 * Says in a line each, without values, which variables are set to no effect and which ones are probably meant: any of `.env`, and those
 * of the process that look like ours.
 *
 * @param known the names that the service reads, and those that its files refer to
 */
export function describeUnread(known: ReadonlySet<string>, { process, inFile }: VariablePlaces): readonly string[] {
  return [...new Set([...inFile, ...Object.keys(process)])].flatMap((name) => {
    if (known.has(name) || isOfKubernetes(name, process[name])) return [];
    const fixed = hasCollector(process) ? findFixed(name, process[name]) : undefined;
    if (fixed !== undefined) return [`${name} has no effect: ${fixed}`];
    const meant = findMeant(name, known);
    const isFromFile = inFile.has(name);
    // Another program may have a variable with the name that is nearly ours, beside ours.
    const isSlip = meant !== undefined && (isFromFile || (process[meant] ?? '') === '');
    const isOurs = isFromFile ? !FOREIGN.test(name) : OWN_PREFIXES.some((prefix) => name.startsWith(prefix));
    if (!isSlip && !isOurs) return [];
    const place = isFromFile ? ' in .env' : '';
    return [`${name}${place} has no effect: there is no such variable${isSlip ? `. Did you mean ${meant}?` : ''}`];
  });
}

function hasCollector(process: VariablePlaces['process']): boolean {
  return ['', 'TRACES_', 'METRICS_'].some((signal) => (process[`OTEL_EXPORTER_OTLP_${signal}ENDPOINT`] ?? '') !== '');
}

/** What the service does in place of what a variable of OpenTelemetry asks for. */
function findFixed(name: string, value = ''): string | undefined {
  return value === '' ? undefined : FIXED.find(([names, values]) => names.test(name) && !values.test(value))?.[2];
}

function findMeant(name: string, known: ReadonlySet<string>): string | undefined {
  const own = name.startsWith(OWN_NAME) ? name.slice(OWN_NAME.length) : name.toUpperCase();
  return known.has(own) ? own : didYouMean(own, known).find((near) => isNearMiss(own, [near]));
}

/** Kubernetes tells each container about all services: one named `ws` gives `WS_PORT=tcp://…`. */
function isOfKubernetes(name: string, value = ''): boolean {
  return /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_/.test(name) || value.startsWith('tcp://');
}
