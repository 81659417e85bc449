import { Transform } from 'class-transformer';
import { IsBoolean, IsIn, IsInt, IsString, Max, Min } from 'class-validator';

/**
 * The kinds of environment variables. Each reads the text of the environment into its type and checks it; a text that does
 * not fit is left as it is, so that the check can word the fault. An empty text counts as not set.
 */

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

/** What Node's timers can hold; more would make them fire at once. */
const LONGEST_DELAY_MS = 2_147_483_647;

/** A time in milliseconds. */
export function Milliseconds(min: number): PropertyDecorator {
  return WholeNumber(min, LONGEST_DELAY_MS);
}

/** `true` or `false`. */
export function Flag(): PropertyDecorator {
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
  );
}

/** One of a few words. */
export function Choice(...words: readonly string[]): PropertyDecorator {
  return IsIn(words, {
    message: ({ property, value }) => `${property}: expected one of ${words.join(', ')}, but got '${show(value)}'.`,
  });
}

/** Any text. */
export function Text(): PropertyDecorator {
  return IsString({ message: ({ property }) => `${property}: expected a text.` });
}

/** A comma-separated list; blanks around the entries are dropped. */
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

function compose(...decorators: readonly PropertyDecorator[]): PropertyDecorator {
  return (target, property) => {
    for (const decorate of decorators) decorate(target, property);
  };
}

/** A value on one line, whatever is in it. */
function show(value: unknown): string {
  return JSON.stringify(String(value)).slice(1, -1);
}
