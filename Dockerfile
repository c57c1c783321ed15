# docker build -t allot . && docker run -p 3000:3000 -v allot:/var/lib/allot allot
ARG NODE=24

FROM node:${NODE}-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-fund --no-audit
COPY . .
# Keeps the packages for PostgreSQL, metrics and SSH, which a server of npm installs itself, in the locked versions.
RUN npm run build \
  && npm pkg delete devDependencies peerDependencies peerDependenciesMeta \
  && npm pkg set 'dependencies.pg=*' 'dependencies.prom-client=*' 'dependencies.ssh2=*' \
  && npm prune --offline --ignore-scripts --no-fund --no-audit

FROM node:${NODE}-bookworm-slim
# tini forwards signals, and reaps git processes whose parent has ended.
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates git tini \
  && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production
# Memory: see docs/operations.md.
ENV NODE_OPTIONS=--max-semi-space-size=4
WORKDIR /opt/allot
COPY --from=build /build/package.json /build/LICENSE ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
RUN chmod 755 dist/bin/allot.js \
  && ln -s /opt/allot/dist/bin/allot.js /usr/local/bin/allot \
  && install -d -o node -g node -m 700 /var/lib/allot
USER node
VOLUME /var/lib/allot
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:3000/-/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "allot"]
CMD ["serve", "--host", "0.0.0.0", "--port", "3000", "--data", "/var/lib/allot"]
