# Builds wick and serves its page: docker build -t wick . && docker run -p 8080:8080 wick
# It answers under localhost and any address; for a name, add -e HOST_NAMES=wick.example.
FROM node:22-bookworm AS build
WORKDIR /wick
COPY . .
RUN node tools/system-packages.mjs native wasm model
RUN npm run build
# The page has a small model of its own where this one cannot be had.
RUN npm run model || mkdir -p models

FROM node:22-bookworm-slim
WORKDIR /wick
COPY --from=build /wick/package.json ./
COPY --from=build /wick/tools ./tools
COPY --from=build /wick/web ./web
COPY --from=build /wick/dist ./dist
COPY --from=build /wick/models ./models
USER node
ENV HOST=0.0.0.0 PORT=8080
EXPOSE 8080
CMD ["node", "tools/serve.mjs"]
