import type { FactoryProvider, InjectionToken, Provider, Type } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';

/**
 * An implementation of an extension point: a class, or a class, value, factory or existing provider as in Nest. Classes
 * and factories inject what `imports` export, and everything that Antiphon exports, such as Environment and Clock.
 */
export type Seam<T> =
  | Type<T>
  | { readonly useClass: Type<T> }
  | { readonly useValue: T }
  | { readonly useExisting: InjectionToken<T> }
  | {
      readonly useFactory: (...dependencies: never[]) => T | Promise<T>;
      readonly inject?: NonNullable<FactoryProvider['inject']>;
    };

/** A seam as a Nest provider of a token. */
export function provideSeam<T>(token: InjectionToken, seam: Seam<T>): Provider {
  if (typeof seam === 'function') return { provide: token, useClass: seam };
  if ('useFactory' in seam) return { provide: token, useFactory: seam.useFactory, inject: [...(seam.inject ?? [])] };
  return { provide: token, ...seam } as Provider;
}

/** Several seams as Nest providers, and their instances, in order, under one token. A class is its own token. */
export function provideSeams<T>(token: InjectionToken, seams: readonly Seam<T>[]): readonly Provider[] {
  const named = seams.map((seam, index) => [tokenOf(seam, `${String(token)} ${index}`), seam] as const);
  const tokens = named.map(([own]) => own);
  return [
    ...named.filter(([own, seam]) => !isAlias(own, seam)).map(([own, seam]) => provideSeam(own, seam)),
    { provide: token, inject: tokens, useFactory: (...instances: readonly T[]): readonly T[] => instances },
  ];
}

/** Instantiates a seam on demand. Throws the errors of its constructor or factory. */
export async function makeSeam<T>(seam: Seam<T>, modules: ModuleRef): Promise<T> {
  if (typeof seam === 'function') return modules.create(seam);
  if ('useClass' in seam) return modules.create(seam.useClass);
  if ('useValue' in seam) return seam.useValue;
  const find = (token: InjectionToken): unknown => modules.get<unknown>(token as Type, { strict: false });
  if ('useExisting' in seam) return find(seam.useExisting as InjectionToken) as T;
  const dependencies = (seam.inject ?? []).map((wanted) =>
    typeof wanted === 'object' && 'token' in wanted ? find(wanted.token) : find(wanted),
  );
  return seam.useFactory(...(dependencies as never[]));
}

function tokenOf<T>(seam: Seam<T>, name: string): InjectionToken {
  if (typeof seam === 'function') return seam;
  if ('useClass' in seam) return seam.useClass;
  if ('useExisting' in seam) return seam.useExisting as InjectionToken;
  return Symbol(name);
}

/** Whether a seam refers to an existing provider, which is not registered again. */
function isAlias<T>(token: InjectionToken, seam: Seam<T>): boolean {
  return typeof seam === 'object' && 'useExisting' in seam && seam.useExisting === token;
}
