import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';

import { pathOf } from './api-paths.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Marks a route by which others go (RESPONSES_ROUTE), or one that takes forms (FORM_ROUTE). */
    antiphon?: string;
  }
}

const METHODS_BY_PATH: readonly (readonly [path: RegExp, methods: readonly string[]])[] = [
  [/^responses$/, ['GET', 'HEAD', 'POST']],
  [/^responses\/input_tokens$/, ['POST']],
  [/^responses\/compact$/, ['POST']],
  [/^responses\/(?!(?:compact|input_tokens)$)[^/]+$/, ['GET', 'HEAD', 'DELETE']],
  [/^responses\/[^/]+\/(?:input_items|children|siblings|leaves|tree|turn)$/, ['GET', 'HEAD']],
  [/^responses\/[^/]+\/cancel$/, ['POST']],
  [/^sessions\/[^/]+$/, ['DELETE']],
  [/^sessions\/[^/]+\/responses$/, ['GET', 'HEAD']],
  [/^sessions\/[^/]+\/fork$/, ['POST']],
  [/^conversations$/, ['POST']],
  [/^conversations\/[^/]+$/, ['GET', 'HEAD', 'POST', 'DELETE']],
  [/^conversations\/[^/]+\/items$/, ['GET', 'HEAD', 'POST']],
  [/^conversations\/[^/]+\/items\/[^/]+$/, ['GET', 'HEAD', 'DELETE']],
  [/^files$/, ['GET', 'HEAD', 'POST']],
  [/^files\/[^/]+$/, ['GET', 'HEAD', 'DELETE']],
  [/^files\/[^/]+\/content$/, ['GET', 'HEAD']],
  [/^uploads$/, ['POST']],
  [/^uploads\/[^/]+\/(?:parts|complete|cancel)$/, ['POST']],
  [/^connections$/, ['GET', 'HEAD']],
  [/^connections\/[^/]+$/, ['DELETE']],
  [/^socket_tokens$/, ['POST']],
  [/^usage$/, ['GET', 'HEAD']],
  [/^activity$/, ['GET', 'HEAD']],
  [/^approvals$/, ['GET', 'HEAD']],
  [/^prompts(?:\/[^/]+)?$/, ['GET', 'HEAD']],
  [/^vector_stores$/, ['GET', 'HEAD', 'POST']],
  [/^vector_stores\/[^/]+$/, ['GET', 'HEAD', 'POST', 'DELETE']],
  [/^vector_stores\/[^/]+\/(?:search|file_batches|file_batches\/[^/]+\/cancel)$/, ['POST']],
  [/^vector_stores\/[^/]+\/files$/, ['GET', 'HEAD', 'POST']],
  [/^vector_stores\/[^/]+\/files\/[^/]+$/, ['GET', 'HEAD', 'POST', 'DELETE']],
  [/^vector_stores\/[^/]+\/(?:files\/[^/]+\/content|file_batches\/[^/]+(?:\/files)?)$/, ['GET', 'HEAD']],
  [/^chat\/completions$/, ['GET', 'HEAD', 'POST']],
  [/^chat\/completions\/[^/]+$/, ['GET', 'HEAD', 'DELETE']],
  [/^chat\/completions\/[^/]+\/messages$/, ['GET', 'HEAD']],
  [/^embeddings$/, ['POST']],
  [/^messages(?:\/count_tokens)?$/, ['POST']],
  [/^models$/, ['GET', 'HEAD']],
  [/^models\/.+$/, ['GET', 'HEAD']],
];

/** The route configuration by which `POST /responses` is recognised, wherever the application has put it. */
export const RESPONSES_ROUTE = { antiphon: 'responses' } as const;

/**
 * Where the API is in this application. A program may move it, with a global prefix or a version in the path; so what
 * has no route of its own, such as sockets, goes by the routes of `POST /responses`.
 */
@Injectable()
export class ApiRoutes {
  private paths: readonly string[] = [];

  /** Notes the routes that the application adds from now on. */
  observe(fastify: FastifyInstance): void {
    fastify.addHook('onRoute', ({ url, config }) => {
      if (config?.antiphon === RESPONSES_ROUTE.antiphon && !this.paths.includes(url)) this.paths = [...this.paths, url];
    });
  }

  /** The paths of `POST /responses`. */
  get responses(): readonly string[] {
    return this.paths;
  }

  /** Whether a path or route pattern belongs to the API and so requires authentication. */
  includes(path: string): boolean {
    return this.resourceOf(path) !== undefined;
  }

  /** The methods of an API URL; undefined when there is no such path. */
  allowedMethods(url: string): readonly string[] | undefined {
    const resource = this.resourceOf(pathOf(url));
    return resource === undefined ? undefined : methodsOf(resource);
  }

  /** Whether the API has a resource, by its path without the prefix. */
  knows(resource: string): boolean {
    return methodsOf(resource) !== undefined;
  }

  /** A path without the prefix of the API; undefined when it is elsewhere. */
  resourceOf(path: string): string | undefined {
    for (const responses of this.paths) {
      const prefix = responses.slice(0, -'responses'.length);
      if (path.startsWith(prefix)) return path.slice(prefix.length);
    }
    return undefined;
  }
}

function methodsOf(resource: string): readonly string[] | undefined {
  return METHODS_BY_PATH.find(([pattern]) => pattern.test(resource))?.[1];
}
