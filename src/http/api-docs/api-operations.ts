import { Injectable, RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';

import { type Operation, operationOf } from '../api-description/index.js';
import { API_PREFIX } from '../index.js';

/** A described route. */
export interface ApiOperation extends Operation {
  /** As OpenAPI writes it: `get`, `post`. */
  readonly method: string;
  /** Below `/v1`, with parameters as OpenAPI writes them: `/responses/{id}`. */
  readonly path: string;
  readonly parameters: readonly string[];
}

/** The described routes of the controllers that this application has, those of its own modules included. */
@Injectable()
export class ApiOperations {
  constructor(private readonly modules: ModulesContainer) {}

  /** All of them, sorted by path. */
  list(): readonly ApiOperation[] {
    const controllers = [...this.modules.values()].flatMap((module) => [...module.controllers.values()]);
    const operations = controllers.flatMap(({ metatype }) => (metatype === null ? [] : operationsOf(metatype)));
    return operations.sort((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0));
  }
}

// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- the type that Nest gives its controllers
function operationsOf(controller: Function): readonly ApiOperation[] {
  const base = pathsOf(controller).find((path) => path.startsWith(`${API_PREFIX}/`));
  if (base === undefined) return [];
  const prototype = controller.prototype as Record<string, object>;
  return new MetadataScanner().getAllMethodNames(prototype).flatMap((name) => {
    const handler = prototype[name];
    const operation = handler && operationOf(handler);
    if (handler === undefined || operation === undefined) return [];
    const method = RequestMethod[Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod].toLowerCase();
    const [own = ''] = pathsOf(handler);
    const { path, parameters } = toTemplate(`${base.slice(API_PREFIX.length)}/${own}`);
    return [{ ...operation, method, path, parameters }];
  });
}

function pathsOf(target: object): readonly string[] {
  const paths = Reflect.getMetadata(PATH_METADATA, target) as string | readonly string[] | undefined;
  return paths === undefined ? [] : [paths].flat();
}

/** `/responses/:id/` as `/responses/{id}`; the rest of a path, `*`, is the parameter `path`. */
function toTemplate(route: string): { readonly path: string; readonly parameters: readonly string[] } {
  const parameters: string[] = [];
  const path = route
    .replace(/\/{2,}/g, '/')
    .replace(/(.)\/$/, '$1')
    .replace(/:(\w+)|\*/g, (_, name: string | undefined) => {
      const parameter = name ?? 'path';
      parameters.push(parameter);
      return `{${parameter}}`;
    });
  return { path, parameters };
}
