# The worker and the starter, static, in an image of their own.
FROM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
ARG COMMIT=
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X floe/internal/version.version=${VERSION} -X floe/internal/version.commit=${COMMIT}" \
    -o /out/ ./worker ./starter

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
USER 65532:65532
COPY --from=build /out/ /usr/local/bin/
ENTRYPOINT ["/usr/local/bin/worker"]
