import { isObject, type Check } from './check.js';
import { missing, unknownValue, wrongType } from './violations.js';

/**
 * An object that is judged by what it says in one member. The variants are a Map because names like `constructor` would
 * find something in a plain object. Like OpenAI's, the violation of an unknown variant is the object's, not the member's.
 *
 * @param otherwise judges variants nobody told us about; without it they are violations
 */
export function unionBy(member: string, variants: ReadonlyMap<string, Check>, otherwise?: Check): Check {
  const names = [...variants.keys()];
  return (value, options) => {
    if (!isObject(value)) return wrongType('an object', value);
    const name = value[member];
    if (name === undefined) return missing().under(member);
    if (typeof name !== 'string') return wrongType('a string', name).under(member);
    const variant = variants.get(name) ?? otherwise;
    return variant === undefined ? unknownValue(name, names) : variant(value, options);
  };
}
