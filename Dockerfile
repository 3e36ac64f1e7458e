# The worker's image: installed in a stage with a compiler, run in one without it and without pip, never as root.
# docs/how-to/run-in-production.md says how to pin the base to a digest.
ARG PYTHON_IMAGE=python:3.11.14-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
# The compiler stays in this stage; Debian keeps no old versions that could be named.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY deploy/image deploy/image
COPY pyproject.toml README.md LICENSE ./
COPY docs docs
COPY landmark_stream landmark_stream
COPY stream_app stream_app
# Seconds since 1970 of the commit: the same commit gives the same files.
ARG SOURCE_DATE_EPOCH=0
RUN deploy/image/install /build /opt/landmark-stream

FROM ${PYTHON_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Landmark Stream" \
      org.opencontainers.image.description="Publishes personal time series in real time under landmark privacy" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /opt/landmark-stream /opt/landmark-stream
# Volumes take the owner of the folders that they are mounted over.
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin landmark \
    && install --directory --owner landmark --mode 0700 \
    /var/lib/landmark-stream /run/landmark-keys /run/landmark-public
ENV PATH=/opt/landmark-stream/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    LANDMARK_STREAM_DATA_FOLDER=/var/lib/landmark-stream/data \
    LANDMARK_STREAM_KEY_FILE=/run/landmark-keys/landmark.key
# A number, not a name: Kubernetes can see that it is not root.
USER 10001:10001
WORKDIR /var/lib/landmark-stream
VOLUME ["/var/lib/landmark-stream", "/run/landmark-keys"]
EXPOSE 9464
# The worker ends its transactions, leaves its group and closes RocksDB at SIGTERM.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9464/healthz', timeout=2)"]
ENTRYPOINT ["landmark-stream"]
CMD ["worker"]
