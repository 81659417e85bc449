import { Transform } from 'class-transformer';
import {
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsPositive,
  IsString,
  Matches,
  Max,
  Min,
  ValidateIf,
} from 'class-validator';

import { LONGEST_DELAY_MS } from '../time/index.js';
import { compose } from '../validation/index.js';

/**
 * The kinds of environment variables. Each converts the text of a variable and validates it; a text that cannot be
 * converted is passed to the validator unchanged. An empty text counts as not set.
 */

/** The highest port there is. */
export const HIGHEST_PORT = 65_535;

/** A whole number within bounds. */
export function WholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): PropertyDecorator {
  return compose(
    Transform(({ value }: { value: unknown }) =>
      isText(value) && /^-?\d+$/.test(value.trim()) ? Number(value) : value,
    ),
    IsInt({ message: ({ property, value }) => `${property}: expected a whole number, but got '${show(value)}'.` }),
    Min(min, { message: ({ property, value }) => `${property}: must be ${min} or more, but got ${show(value)}.` }),
    Max(max, { message: ({ property, value }) => `${property}: must be ${max} or less, but got ${show(value)}.` }),
  );
}

const DECIMAL = /^(?:\d+(?:\.\d+)?|\.\d+)$/;

/** Tolerance for shares that add up to one. */
const ROUNDING = 1e-9;

/** A duration in milliseconds. */
export function Milliseconds(min: number): PropertyDecorator {
  return WholeNumber(min, LONGEST_DELAY_MS);
}

/** `true` or `false`; with `open` also null. */
export function Flag({ open = false } = {}): PropertyDecorator {
  const words = new Map<unknown, boolean>([
    ['true', true],
    ['1', true],
    ['false', false],
    ['0', false],
  ]);
  return compose(
    Transform(({ value }: { value: unknown }) =>
      isText(value) ? (words.get(value.trim().toLowerCase()) ?? value) : value,
    ),
    IsBoolean({ message: ({ property, value }) => `${property}: expected true or false, but got '${show(value)}'.` }),
    ValidateIf((_, value) => !(open && value === null)),
  );
}

/** One of a few words. */
export function Choice(...words: readonly string[]): PropertyDecorator {
  return IsIn(words, {
    message: ({ property, value }) => `${property}: expected one of ${words.join(', ')}, but got '${show(value)}'.`,
  });
}

/** Some of a few words, comma-separated; `none` stands for none of them. */
export function Choices(...words: readonly string[]): PropertyDecorator {
  return compose(
    Transform(({ value }: { value: unknown }) =>
      isText(value) ? splitList(value.trim() === 'none' ? '' : value) : value,
    ),
    IsIn(words, {
      each: true,
      message: ({ property, value }) =>
        `${property}: expected some of ${words.join(', ')}, or none, but got '${show(value)}'.`,
    }),
  );
}

/** A text that matches a pattern; `expected` describes it. */
export function Shape(pattern: RegExp, expected: string): PropertyDecorator {
  return compose(
    Transform(({ value }: { value: unknown }) => (isText(value) ? value.trim() : value)),
    Matches(pattern, {
      message: ({ property, value }) => `${property}: expected ${expected}, but got '${show(value)}'.`,
    }),
  );
}

/** A number above 0. */
export function Factor(): PropertyDecorator {
  return compose(
    Transform(({ value }: { value: unknown }) => (isText(value) && DECIMAL.test(value.trim()) ? Number(value) : value)),
    IsNumber({}, { message: ({ property, value }) => `${property}: expected a number, but got '${show(value)}'.` }),
    IsPositive({ message: ({ property, value }) => `${property}: must be above 0, but got ${show(value)}.` }),
  );
}

/** A number from 0 to 1. */
export function Share(): PropertyDecorator {
  const message = ({ property, value }: { property: string; value: unknown }): string =>
    `${property}: expected a number from 0 to 1, but got '${show(value)}'.`;
  return compose(
    Transform(({ value }: { value: unknown }) => (isText(value) && DECIMAL.test(value.trim()) ? Number(value) : value)),
    IsNumber({}, { message }),
    Min(0, { message }),
    Max(1, { message }),
  );
}

/** Shares by name, `name=0.1,other=0.02`: each from 0 to 1, and at most 1 in total. */
export function Rates(...names: readonly string[]): PropertyDecorator {
  return compose(
    Transform(({ value }: { value: unknown }) => readRates(value, names) ?? String(value)),
    IsObject({
      message: ({ property, value }) => {
        const expected = `name=share entries of ${names.join(', ')}, shares from 0 to 1 and at most 1 in total`;
        return `${property}: expected ${expected}, but got '${show(value)}'.`;
      },
    }),
  );
}

function readRates(value: unknown, names: readonly string[]): Readonly<Record<string, number>> | undefined {
  if (!isText(value) && typeof value !== 'object') return undefined;
  const entries = isText(value) ? splitList(value).map(readRate) : Object.entries(value ?? {});
  const isKnown = entries.every(([name, share]) => names.includes(name) && typeof share === 'number' && share >= 0);
  const rates = Object.fromEntries(entries) as Readonly<Record<string, number>>;
  const total = Object.values(rates).reduce((sum, share) => sum + share, 0);
  return isKnown && total <= 1 + ROUNDING && Object.keys(rates).length === entries.length ? rates : undefined;
}

/** The levels of log lines, the most severe first. */
export const LEVELS = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const;

/** Levels of log lines by the names of parts, `Turn=debug,Refused=warn`. */
export function LevelsOfParts(): PropertyDecorator {
  return compose(
    Transform(({ value }: { value: unknown }) => readLevels(value) ?? String(value)),
    IsObject({
      message: ({ property, value }) =>
        `${property}: expected part=level entries such as Turn=debug, levels ${LEVELS.join(', ')}, but got '${show(value)}'.`,
    }),
  );
}

function readLevels(value: unknown): Readonly<Record<string, string>> | undefined {
  if (!isText(value) && typeof value !== 'object') return undefined;
  const entries = isText(value)
    ? splitList(value).map((entry) => entry.split('=').map((part) => part.trim()))
    : Object.entries((value ?? {}) as Readonly<Record<string, string>>);
  const isValid = entries.every(
    (entry) => entry.length === 2 && /^\w+$/.test(entry[0] ?? '') && LEVELS.some((level) => level === entry[1]),
  );
  return isValid ? (Object.fromEntries(entries) as Readonly<Record<string, string>>) : undefined;
}

function readRate(entry: string): readonly [name: string, share: number] {
  const [name = '', share = ''] = entry.split('=', 2);
  return [name.trim(), DECIMAL.test(share.trim()) ? Number(share) : NaN];
}

/** Any text. */
export function Text(): PropertyDecorator {
  return IsString({ message: ({ property }) => `${property}: expected a text.` });
}

/** A comma-separated list; entries are trimmed. */
export function TextList(): PropertyDecorator {
  return compose(
    Transform(({ value }: { value: unknown }) => (isText(value) ? splitList(value) : value)),
    IsString({ each: true, message: ({ property }) => `${property}: expected a comma-separated list.` }),
  );
}

function splitList(text: string): readonly string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** A value on one line, escaped. */
function show(value: unknown): string {
  return JSON.stringify(String(value)).slice(1, -1);
}
