import { isObject, type Check } from './check.js';
import { allOf, described, type JsonSchema, schemaOf } from './json-schema.js';
import { missing, unknownValue, wrongType } from './violations.js';

/**
 * An object whose check depends on one member. The variants are a Map, because a name such as `constructor` exists in
 * every plain object. As in OpenAI's API, the violation of an unknown variant belongs to the object, not to the member.
 *
 * @param otherwise checks unknown variants; without it they are violations
 */
export function unionBy(member: string, variants: ReadonlyMap<string, Check>, otherwise?: Check): Check {
  const names = [...variants.keys()];
  const union: Check = (value, options) => {
    if (!isObject(value)) return wrongType('an object', value);
    const name = value[member];
    if (name === undefined) return missing().under(member);
    if (typeof name !== 'string') return wrongType('a string', name).under(member);
    const variant = variants.get(name) ?? otherwise;
    return variant === undefined ? unknownValue(name, names) : variant(value, options);
  };
  return described(union, (definitions) => ({
    anyOf: [
      ...[...variants].map(([name, check]) =>
        allOf([withMember(member, { type: 'string', const: name }), schemaOf(check, definitions)]),
      ),
      ...(otherwise === undefined
        ? []
        : [allOf([withMember(member, { type: 'string', not: { enum: names } }), schemaOf(otherwise, definitions)])]),
    ],
  }));
}

function withMember(member: string, schema: JsonSchema): JsonSchema {
  return { type: 'object', required: [member], properties: { [member]: schema } };
}
