import type { ErrorObject } from 'ajv/dist/2020.js';

/** Priority of several violations at one place; other keywords rank in between. */
const TELLING = ['type', 'additionalProperties'];
const LESS_TELLING = ['oneOf', 'anyOf', 'not', 'required', 'if'];

/** Names that are quoted even from a file with keys: those of members are short, and have no capitals or digits. */
const NAME_OF_MEMBER = /^(?=.{1,32}$)[a-z]+(?:_[a-z]+)*$/;

/** The most specific violation of a file, with its place: `turns[2].steps[0] must be …`. */
export function describeViolations(errors: readonly ErrorObject[], isSecret: boolean): string {
  const [worst] = errors.toSorted((a, b) => depthOf(b) - depthOf(a) || rankOf(a) - rankOf(b));
  if (worst === undefined) return 'the file is not valid';
  const place = worst.instancePath
    .slice(1)
    .replaceAll(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.');
  return `${place === '' ? 'the file' : place} ${wordsOf(worst, isSecret)}`;
}

function depthOf({ instancePath }: ErrorObject): number {
  return instancePath.split('/').length;
}

function rankOf({ keyword }: ErrorObject): number {
  if (TELLING.includes(keyword)) return TELLING.indexOf(keyword);
  return TELLING.length + 1 + LESS_TELLING.indexOf(keyword);
}

/** Rules about several members use the description in the schema. */
function wordsOf({ keyword, message = 'is not valid', params, parentSchema }: ErrorObject, isSecret: boolean): string {
  const { description, properties = {} } = (parentSchema ?? {}) as {
    readonly description?: string;
    readonly properties?: object;
  };
  const { additionalProperty, allowedValues } = params as { additionalProperty?: string; allowedValues?: string[] };
  if (isSecret && additionalProperty !== undefined) {
    const found = NAME_OF_MEMBER.test(additionalProperty) ? `, but has '${additionalProperty}'` : '';
    return `must have no other members than ${Object.keys(properties).join(', ')}${found}`;
  }
  if (description !== undefined && ['oneOf', 'anyOf', 'not', 'pattern'].includes(keyword)) return description;
  const detail = additionalProperty ?? allowedValues?.join(', ');
  return detail === undefined ? message : `${message} (${detail})`;
}
