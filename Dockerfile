# One image for every role: `node src/cli/main.ts api | proxy | worker | migrate`. Nothing in it is secret; settings come from the environment.
# The version is that of the `node` package in package.json, which pins the same runtime for development (a test compares them).
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Without install scripts: the `node` package would fetch a second copy of the runtime, and nothing else that is left here has any.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:${NODE_VERSION}-slim
ENV NODE_ENV=production \
    CUSTOMHOUSE_ENV=production \
    HOST=0.0.0.0 \
    JOURNAL_DIR=/var/lib/customhouse/journal \
    NODE_OPTIONS=--disable-warning=ExperimentalWarning
# A named volume that is mounted here for the first time takes over this owner.
RUN mkdir -p /var/lib/customhouse/journal && chown -R node:node /var/lib/customhouse
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY sql ./sql
COPY clickhouse ./clickhouse
COPY workers ./workers
COPY src ./src
USER node
CMD ["node", "src/cli/main.ts", "api"]
