import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';

import { API_ALIAS, API_PREFIX, apiPath, pathOf } from './api-paths.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Marks a route by which others go (RESPONSES_ROUTE), or one that takes forms (FORM_ROUTE). */
    antiphon?: string;
  }

  interface FastifyInstance {
    /** Where the API is in the application; absent until it is configured. */
    apiRoutes?: ApiRoutes;
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
  [/^chat\/completions\/[^/]+$/, ['GET', 'HEAD', 'POST', 'DELETE']],
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
 * has no route of its own, such as sockets and the paths below API_ALIAS, goes by the routes of `POST /responses`.
 */
@Injectable()
export class ApiRoutes {
  /** What stands before API_PREFIX, `/` or `/api/` for example. */
  private roots: readonly string[] = [];
  private paths: readonly string[] = [];

  /** Notes the routes that the application adds from now on. */
  observe(fastify: FastifyInstance): void {
    fastify.decorate('apiRoutes', { getter: (): ApiRoutes => this });
    fastify.addHook('onRoute', ({ url, config }) => {
      if (config?.antiphon !== RESPONSES_ROUTE.antiphon) return;
      const root = url.slice(0, -apiPath('responses').length);
      if (this.roots.includes(root)) return;
      this.roots = [...this.roots, root];
      this.paths = [...this.paths, url, `${root}${API_ALIAS}/responses`];
    });
  }

  /** The paths of `POST /responses`, below API_ALIAS too. */
  get responses(): readonly string[] {
    return this.paths;
  }

  /**
   * The URL by which the router finds the route of a request: where it names a resource below API_ALIAS, that below API_PREFIX. One route for both halves
   * what a start spends on routes. A program may have other routes there.
   */
  toRouted(url: string): string {
    // Most requests; the router also knows names that are escaped.
    if (!/openai|%/.test(url)) return url;
    const path = pathOf(url);
    const own = this.toOwn(path);
    if (own === path || !this.knows(decode(this.resourceOf(own) ?? ''))) return url;
    return own + (/[?#].*/s.exec(url)?.[0] ?? '');
  }

  /** A path below API_ALIAS as it is below API_PREFIX; any other as it is. */
  toOwn(path: string): string {
    for (const root of this.roots) {
      const rest = restBelow(`${root}${API_ALIAS}/`, path);
      if (rest !== undefined) return `${root}${API_PREFIX}/${rest}`;
    }
    return path;
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

/** What of a path is below a base; undefined when it is elsewhere. */
function restBelow(base: string, path: string): string | undefined {
  if (path.startsWith(base)) return path.slice(base.length);
  if (!path.includes('%')) return undefined;
  const depth = base.split('/').length - 1;
  const segments = path.split('/');
  return decode(`${segments.slice(0, depth).join('/')}/`) === base ? segments.slice(depth).join('/') : undefined;
}

/** As the router does it; what is escaped wrongly stays, so that the router refuses it. */
function decode(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}
