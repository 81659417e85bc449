import { describe, expect, it } from '@jest/globals';
import {
  Allow,
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  MinLength,
  validateSync,
} from 'class-validator';
import { refusalOf } from '../../test/support/violation-of.js';
import {
  Closed,
  compile,
  IsNullable,
  later,
  listOf,
  nested,
  recordOfStrings,
  Satisfies,
  stringOr,
  unionBy,
} from './index.js';

class Wheel {
  @IsInt()
  @Min(10)
  @Max(30)
  inches!: number;
}

class Engine {
  @IsNumber()
  @Min(0.5)
  @Max(8)
  litres!: number;
}

class Motor {
  @Satisfies(later(() => vehiclePart))
  cooler!: object;
}

const vehiclePart = unionBy('kind', { wheel: nested(Wheel), engine: nested(Engine), motor: nested(Motor) });

@Closed()
class Vehicle {
  @IsString()
  @MinLength(2)
  @MaxLength(5)
  @Matches(/^[a-z🚲]+$/u)
  name!: string;

  @IsDefined()
  anything!: unknown;

  @IsNullable()
  @IsBoolean()
  fast!: boolean | null;

  @IsOptional()
  @IsIn(['red', 'green', 'blue'])
  colour?: string;

  @IsOptional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(2)
  @IsString({ each: true })
  owners?: string[];

  @IsOptional()
  @IsObject()
  extras?: object;

  @IsOptional()
  @Satisfies(listOf(vehiclePart, 'an array of parts'))
  parts?: object[];

  @IsOptional()
  @Satisfies(recordOfStrings({ expected: 'a label object', maxProperties: 2, maxNameLength: 3, maxValueLength: 4 }))
  labels?: Record<string, string>;

  @IsOptional()
  @Satisfies(stringOr({ kind: 'object', check: nested(Wheel), expected: 'one of a string or object', maxLength: 4 }))
  spare?: string | Wheel;

  @Allow()
  note?: unknown;
}

const validate = compile(Vehicle);
const bicycle = { name: 'bike', anything: 0, fast: null };

function violationOf(value: unknown, unknownParameters: 'ignore' | 'reject' = 'reject'): unknown {
  return refusalOf(() => validate(value, { unknownParameters }));
}

describe('compile', () => {
  it.each<[string, unknown]>([
    ['the least', bicycle],
    ['null for what is optional', { ...bicycle, colour: null, parts: null, labels: undefined }],
    ['everything', { ...bicycle, fast: true, owners: ['a', 'b'], labels: { a: 'b' }, spare: 'none', note: [[]] }],
    ['a union within a union', { ...bicycle, parts: [{ kind: 'motor', cooler: { kind: 'engine', litres: 1 } }] }],
    ['a surrogate pair as one character', { ...bicycle, name: '🚲🚲🚲🚲🚲' }],
    ['an object in place of a string', { ...bicycle, spare: { inches: 28 } }],
  ])('a compiled class accepts %s', (_, value) => {
    expect(violationOf(value)).toBeNull();
  });

  it.each<[unknown, string, string | null, string]>([
    [[], 'invalid_type', null, 'Invalid type for the value: expected an object, but got an array instead.'],
    [{}, 'missing_required_parameter', 'name', "Missing required parameter: 'name'."],
    [{ name: null }, 'invalid_type', 'name', "Invalid type for 'name': expected a string, but got an object instead."],
    [
      { name: 'a' },
      'string_below_min_length',
      'name',
      "Invalid 'name': string too short. Expected a string with minimum length 2, but got a string with length 1 instead.",
    ],
    [
      { name: '' },
      'string_below_min_length',
      'name',
      "Invalid 'name': string too short. Expected a string with minimum length 2, but got an empty string instead.",
    ],
    [
      { name: 'toolong' },
      'string_above_max_length',
      'name',
      "Invalid 'name': string too long. Expected a string with maximum length 5, but got a string with length 7 instead.",
    ],
    [
      { name: 'UP' },
      'invalid_value',
      'name',
      "Invalid 'name': string does not match pattern. Expected a string that matches the pattern '^[a-z🚲]+$'.",
    ],
    [{ name: 'bike' }, 'missing_required_parameter', 'anything', "Missing required parameter: 'anything'."],
    [{ name: 'bike', anything: 1 }, 'missing_required_parameter', 'fast', "Missing required parameter: 'fast'."],
    [
      { ...bicycle, fast: 'yes' },
      'invalid_type',
      'fast',
      "Invalid type for 'fast': expected a boolean, but got a string instead.",
    ],
    [
      { ...bicycle, colour: 'pink' },
      'invalid_value',
      'colour',
      "Invalid value: 'pink'. Supported values are: 'red', 'green', and 'blue'.",
    ],
    [
      { ...bicycle, colour: 1 },
      'invalid_type',
      'colour',
      "Invalid type for 'colour': expected one of 'red', 'green', or 'blue', but got an integer instead.",
    ],
    [
      { ...bicycle, owners: [] },
      'empty_array',
      'owners',
      "Invalid 'owners': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    ],
    [
      { ...bicycle, owners: ['a', 'b', 'c'] },
      'array_above_max_length',
      'owners',
      "Invalid 'owners': array too long. Expected an array with maximum length 2, but got an array with length 3 instead.",
    ],
    [
      { ...bicycle, owners: ['a', null] },
      'invalid_type',
      'owners[1]',
      "Invalid type for 'owners[1]': expected a string, but got null instead.",
    ],
    [
      { ...bicycle, extras: [] },
      'invalid_type',
      'extras',
      "Invalid type for 'extras': expected an object, but got an array instead.",
    ],
    [
      { ...bicycle, parts: {} },
      'invalid_type',
      'parts',
      "Invalid type for 'parts': expected an array of parts, but got an object instead.",
    ],
    [
      { ...bicycle, parts: [null] },
      'invalid_type',
      'parts[0]',
      "Invalid type for 'parts[0]': expected an object, but got null instead.",
    ],
    [
      { ...bicycle, parts: [{ kind: 'constructor' }] },
      'invalid_value',
      'parts[0]',
      "Invalid value: 'constructor'. Supported values are: 'wheel', 'engine', and 'motor'.",
    ],
    [
      { ...bicycle, parts: [{ kind: 'wheel', inches: 20.5 }] },
      'invalid_type',
      'parts[0].inches',
      "Invalid type for 'parts[0].inches': expected an integer, but got a decimal instead.",
    ],
    [
      { ...bicycle, parts: [{ kind: 'wheel', inches: 31 }] },
      'integer_above_max_value',
      'parts[0].inches',
      "Invalid 'parts[0].inches': integer above maximum value. Expected a value <= 30, but got 31 instead.",
    ],
    [
      { ...bicycle, parts: [{ kind: 'motor', cooler: { kind: 'engine', litres: 0 } }] },
      'decimal_below_min_value',
      'parts[0].cooler.litres',
      "Invalid 'parts[0].cooler.litres': decimal below minimum value. Expected a value >= 0.5, but got 0 instead.",
    ],
    [
      { ...bicycle, labels: { a: '', b: '', c: '' } },
      'object_above_max_properties',
      'labels',
      "Invalid 'labels': too many properties. Expected an object with at most 2 properties, but got an object with 3 properties instead.",
    ],
    [
      { ...bicycle, labels: { long: '' } },
      'string_above_max_length',
      'labels',
      "Invalid 'labels': property name too long. Expected a property name with maximum length 3, but got 'long' with length 4 instead.",
    ],
    [
      { ...bicycle, labels: { a: 1 } },
      'invalid_type',
      'labels.a',
      "Invalid type for 'labels.a': expected a string, but got an integer instead.",
    ],
    [
      { ...bicycle, spare: [] },
      'invalid_type',
      'spare',
      "Invalid type for 'spare': expected one of a string or object, but got an array instead.",
    ],
    [{ ...bicycle, nmae: 'x' }, 'unknown_parameter', 'nmae', "Unknown parameter: 'nmae'. Did you mean 'note'?"],
    [{ ...bicycle, toString: 1 }, 'unknown_parameter', 'toString', "Unknown parameter: 'toString'."],
  ])('a compiled class refuses %j', (value, code, param, message) => {
    expect(violationOf(value)).toEqual([400, code, param, message]);
  });

  it('a compiled class leaves unknown members alone when they are ignored', () => {
    expect(violationOf({ ...bicycle, nmae: 'x' }, 'ignore')).toBeNull();
  });

  it('a violation never repeats a long text in full', () => {
    const [, , param, message] = violationOf({ ...bicycle, ['x'.repeat(1e6)]: 1 }) as string[];
    expect(param?.length).toBeLessThan(200);
    expect(message?.length).toBeLessThan(200);
  });

  it('compile leaves the classes valid for class-validator itself', () => {
    const good = Object.assign(new Vehicle(), bicycle, { parts: [{ kind: 'wheel', inches: 28 }] });
    const bad = Object.assign(new Vehicle(), bicycle, { parts: [{ kind: 'wheel' }] });
    expect(validateSync(good)).toEqual([]);
    expect(validateSync(bad).map(({ property, constraints }) => [property, constraints])).toEqual([
      ['parts', { satisfies: 'parts is not valid' }],
    ]);
  });
});
