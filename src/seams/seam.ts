import { type FactoryProvider, Inject, type InjectionToken, Optional, type Provider, type Type } from '@nestjs/common';
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
  return { ...seam, provide: token } as Provider;
}

/** Several seams as Nest providers, and their instances, in order, under one token. A class is its own token. */
export function provideSeams<T>(token: InjectionToken, seams: readonly Seam<T>[]): readonly Provider[] {
  const named = seams.map((seam, index) => [tokenOf(seam, `${String(token)}[${index}]`), seam] as const);
  const tokens = named.map(([own]) => own);
  return [
    ...named.filter(([, seam]) => !isExisting(seam)).map(([own, seam]) => provideSeam(own, seam)),
    { provide: token, inject: tokens, useFactory: (...instances: readonly T[]): readonly T[] => instances },
  ];
}

/**
 * Instantiates a seam on demand, after everything that it injects. Throws the errors of its constructor or factory, and Nest's
 * own for a dependency that is missing.
 */
export async function makeSeam<T>(seam: Seam<T>, modules: ModuleRef): Promise<T> {
  if (typeof seam === 'function') return modules.create(seam);
  if ('useClass' in seam) return modules.create(seam.useClass);
  if ('useValue' in seam) return seam.useValue;
  if ('useExisting' in seam) return (await resolve([seam.useExisting as InjectionToken], modules))[0] as T;
  return seam.useFactory(...((await resolve(seam.inject ?? [], modules)) as never[]));
}

/** What a list of tokens stands for. Nest waits for asynchronous providers of classes that it creates, not in `get`. */
async function resolve(
  tokens: NonNullable<FactoryProvider['inject']>,
  modules: ModuleRef,
): Promise<readonly unknown[]> {
  class Dependencies {
    readonly all: readonly unknown[];

    constructor(...all: unknown[]) {
      this.all = all;
    }
  }
  for (const [index, wanted] of tokens.entries()) {
    const { token, optional } =
      typeof wanted === 'object' && 'token' in wanted ? wanted : { token: wanted, optional: false };
    Inject(token)(Dependencies, undefined, index);
    if (optional) Optional()(Dependencies, undefined, index);
  }
  return (await modules.create(Dependencies)).all;
}

function tokenOf<T>(seam: Seam<T>, name: string): InjectionToken {
  if (typeof seam === 'function') return seam;
  if ('useClass' in seam) return seam.useClass;
  if ('useExisting' in seam) return seam.useExisting as InjectionToken;
  return name;
}

/** Whether a seam refers to an existing provider, which keeps its own token and is not registered again. */
function isExisting<T>(seam: Seam<T>): boolean {
  return typeof seam === 'object' && 'useExisting' in seam;
}
