# The manager's image: docker build -t dynamo-manager:0.1.0 .
#
# Everything comes from requirements.lock, by hash. The first stage turns it into wheels; the second one installs the manager from
# those alone, so that of the lock only what runs comes along, and no tool of the build.
FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements.lock ./
RUN python -m venv /build \
 && /build/bin/pip install --no-cache-dir --require-hashes -r requirements.lock \
 && /build/bin/pip wheel --no-cache-dir --require-hashes --no-deps --wheel-dir /wheels -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY dynamo_ctrl dynamo_ctrl
COPY programs programs
COPY cmd cmd
RUN /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels .
RUN python -m venv /opt/dynamo \
 && /opt/dynamo/bin/pip install --no-cache-dir --no-index --find-links /wheels dynamo-ctrl \
 && /opt/dynamo/bin/python -m compileall -q /opt/dynamo/lib

FROM python:3.13-slim
COPY --from=build /opt/dynamo /opt/dynamo
# The working directory is never a place to import from.
ENV PYTHONSAFEPATH=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PATH=/opt/dynamo/bin:$PATH
WORKDIR /
USER 65532:65532
ENTRYPOINT ["dynamo-manager"]
CMD ["run"]
