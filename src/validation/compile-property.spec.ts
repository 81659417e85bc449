import { describe, expect, it } from '@jest/globals';
import { IsEmail, IsString, Matches } from 'class-validator';
import { compile, type DecoratedClass } from './index.js';

describe('what the compiler does not understand', () => {
  it('the compiler fails at once on a decorator that it does not know', () => {
    class Letter {
      @IsEmail()
      to!: string;
    }
    expect(() => compile(Letter)).toThrow("Letter.to: unsupported constraint 'isEmail'");
  });

  it.each<[string, () => DecoratedClass]>([
    [
      'groups',
      () => {
        class Grouped {
          @IsString({ groups: ['some'] })
          name!: string;
        }
        return Grouped;
      },
    ],
    [
      'a pattern with a state',
      () => {
        class Stateful {
          @Matches(/a/g)
          name!: string;
        }
        return Stateful;
      },
    ],
    ['a class without decorators', () => class Bare {}],
  ])('the compiler fails at once on %s', (_, define) => {
    expect(() => compile(define())).toThrow();
  });
});
