# The worker's image: installed once in a stage with a compiler's leftovers, run in one without them, never as root.
FROM python:3.11-slim AS build
WORKDIR /build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY pyproject.toml setup.py constraints.txt README.md ./
COPY stream_app stream_app
RUN python -m venv /opt/landmark-stream \
    && COMPILE_LANDMARK_STREAM=1 /opt/landmark-stream/bin/pip install --no-cache-dir --constraint constraints.txt .

FROM python:3.11-slim
COPY --from=build /opt/landmark-stream /opt/landmark-stream
# Volumes take the owner of the folders that they are mounted over.
RUN useradd --system --uid 10001 --no-create-home landmark \
    && install --directory --owner landmark --mode 0700 \
    /var/lib/landmark-stream /run/landmark-keys /run/landmark-public
ENV PATH=/opt/landmark-stream/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    LANDMARK_STREAM_DATA_FOLDER=/var/lib/landmark-stream/data \
    LANDMARK_STREAM_KEY_FILE=/run/landmark-keys/landmark.key
USER landmark
WORKDIR /var/lib/landmark-stream
VOLUME ["/var/lib/landmark-stream", "/run/landmark-keys"]
EXPOSE 9464
# Faust commits and leaves its group at SIGTERM.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:9464/healthz', timeout=2)"]
ENTRYPOINT ["landmark-stream"]
CMD ["worker"]
