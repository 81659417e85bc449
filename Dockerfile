# syntax=docker/dockerfile:1

# The build: all dependencies, then only those of production, and all that is optional to install.
FROM node:24.21.0-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build scripts/build
COPY src src
COPY console console
RUN npm run build && npm pkg delete devDependencies peerDependenciesMeta peerDependencies.openai peerDependencies.@types/ws && npm prune

# The image. Pin the digest of node:24.21.0-slim in your registry for builds that can be repeated byte for byte.
FROM node:24.21.0-slim
LABEL org.opencontainers.image.title="Antiphon" \
      org.opencontainers.image.description="A self-hosted OpenAI Responses API service" \
      org.opencontainers.image.licenses="Apache-2.0"

# Only /data is written, and only with STATE=sqlite: the root file system can be read-only.
RUN mkdir /data && chown node:node /data
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY LICENSE ./

# A container is reached from outside, so the service listens everywhere. It refuses to do so without keys, and says so.
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=8080 \
    STATE_DIR=/data \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=65536
USER node
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

# The flags of `npm start`, whose variables are above. Node is process 1, so that SIGTERM reaches it.
ENTRYPOINT ["node", "--enable-source-maps", "--max-semi-space-size=8", "dist/main.js"]
