import { type DynamicModule, Inject, Injectable, Module, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';

const WORK = Symbol('what is put out of order');

/** Replaces members of a service in the running application, so that a test can see whether anybody notices. */
@Injectable()
class Saboteur implements OnApplicationBootstrap {
  constructor(
    private readonly modules: ModuleRef,
    @Inject(WORK) private readonly work: readonly [token: Type | (abstract new () => unknown), members: object],
  ) {}

  onApplicationBootstrap(): void {
    const [token, members] = this.work;
    Object.assign(this.modules.get<object>(token as Type<object>, { strict: false }), members);
  }
}

@Module({})
class SabotageModule {}

/** A module to import that puts these members in the place of the service's own. */
export function sabotage(
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- any class, whatever it is made of
  token: abstract new (...parts: any[]) => unknown,
  members: object,
): DynamicModule {
  return { module: SabotageModule, providers: [Saboteur, { provide: WORK, useValue: [token, members] }] };
}
