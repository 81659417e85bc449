import { describe, expect, it } from '@jest/globals';
import { IsInt, IsOptional, IsString, Matches, Max, MaxLength, Min, MinLength } from 'class-validator';

import { CONSTRAINT_SCHEMAS } from './compile-property.js';
import { CONSTRAINT_COMPILERS } from './constraints.js';
import {
  Definitions,
  every,
  later,
  listOf,
  nested,
  type Check,
  described,
  Satisfies,
  schemaOf,
  unionBy,
} from './index.js';

class Leaf {
  @IsString()
  @MinLength(1)
  @MaxLength(8)
  name!: string;

  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(9)
  weight?: number | null;
}

class Branch {
  @Satisfies(listOf(later(() => part)))
  parts!: object[];
}

const part: Check = unionBy('kind', { leaf: nested(Leaf), branch: nested(Branch) });

const describeIn = (check: Check) => {
  const definitions = new Definitions('#/');
  return { schema: schemaOf(check, definitions), definitions: definitions.all() };
};

describe('schemaOf', () => {
  it('schemaOf knows every constraint that the compiler knows', () => {
    expect([...CONSTRAINT_SCHEMAS.keys()]).toEqual([...CONSTRAINT_COMPILERS.keys()]);
  });

  it('schemaOf writes classes as definitions, also one that contains itself', () => {
    const kind = (name: string) => ({
      type: 'object',
      required: ['kind'],
      properties: { kind: { type: 'string', const: name } },
    });
    const union = {
      anyOf: [{ allOf: [kind('leaf'), { $ref: '#/Leaf' }] }, { allOf: [kind('branch'), { $ref: '#/Branch' }] }],
    };
    expect(describeIn(part)).toEqual({
      schema: union,
      definitions: {
        Branch: { type: 'object', required: ['parts'], properties: { parts: { type: 'array', items: union } } },
        Leaf: {
          type: 'object',
          required: ['name'],
          properties: {
            name: { type: 'string', minLength: 1, maxLength: 8 },
            weight: { type: ['integer', 'null'], minimum: 1, maximum: 9 },
          },
        },
      },
    });
  });

  it('schemaOf keeps rules apart that have the same keyword', () => {
    const both = every([described(() => null, { maxItems: 2 }), described(() => null, { maxItems: 1 })]);
    expect(describeIn(both).schema).toEqual({ allOf: [{ maxItems: 2 }, { maxItems: 1 }] });
  });

  it('schemaOf fails on a check without a schema, wherever it is', () => {
    expect(() => describeIn(listOf(() => null))).toThrow('This check has no JSON Schema');
  });

  it('schemaOf fails on two classes of one name', () => {
    const other = { Leaf: class Leaf extends Branch {} }.Leaf;
    const both = every([nested(Leaf), nested(other)]);
    expect(() => describeIn(both)).toThrow("Two schemas have the name 'Leaf'.");
  });

  it('schemaOf fails on a pattern with flags', () => {
    class Loud {
      @Matches(/a/i)
      name!: string;
    }
    expect(() => describeIn(nested(Loud))).toThrow('JSON Schema has no flags');
  });
});
