# toolfold as a container: `make image`, from the wheel of `make release`. One image for linux/arm64 and linux/amd64 that
# serves MCP on port 8000 at /mcp, and is a Lambda function where Lambda starts it. docs/how-to/deploy.md
FROM python:3.13-slim AS packages
COPY requirements/container.txt /tmp/
RUN python -m venv --without-pip /opt/toolfold
RUN python -m pip --python /opt/toolfold/bin/python install --no-cache-dir --no-compile --only-binary :all: --require-hashes -r /tmp/container.txt
COPY dist/*.whl /tmp/
RUN python -m pip --python /opt/toolfold/bin/python install --no-cache-dir --no-compile --no-deps /tmp/toolfold-*.whl
RUN python -m compileall -q --invalidation-mode unchecked-hash /opt/toolfold/lib

FROM python:3.13-slim
COPY --from=packages /opt/toolfold /opt/toolfold
COPY handlers/gateway/app.py deploy/container/start /opt/toolfold/function/
WORKDIR /opt/toolfold/function
ENV PATH=/opt/toolfold/bin:$PATH PYTHONUNBUFFERED=1 TOOLFOLD_CACHE=memory
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["/opt/toolfold/function/start"]
CMD ["serve", "--host", "0.0.0.0", "--any-host", "--port", "8000"]
